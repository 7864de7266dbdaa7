// Runs `signalbox serve`: opens the log, serves, and stops cleanly.
#pragma once

#include "server/config.h"
#include "server/scheduler/redactions.h"
#include "server/scheduler/retention_outcome.h"

namespace signalbox {

// The parts of the audit commands that the service uses to rewrite its log. The program passes them
// in, so that there is only one implementation, on which the server doesn't depend.
struct LogRewriters {
  StageRetention stage_retention;   // for a retention that is due
  Redactions::Plan plan_redaction;  // for `log.redact`
};

// Blocks until SIGTERM, SIGINT or a fatal error, and serves meanwhile. Returns the exit code: 0
// after a clean stop, 74 if the log can't be written, 75 if another process uses the data
// directory, the clock is wrong beyond doubt, or there are too few threads or too little memory, 78
// for an invalid configuration or damaged data.
int run_server(const ServeOptions& options, const LogRewriters& rewriters);

}  // namespace signalbox
