// Runs `signalbox serve`: opens the log, serves, and stops cleanly.
#pragma once

#include "server/config.h"
#include "server/scheduler/retention_outcome.h"

namespace signalbox {

// Blocks until SIGTERM, SIGINT or a fatal error, and serves meanwhile. A retention that is due
// calls `stage_retention`. Returns the exit code: 0 after a clean stop, 74 if the log can't be
// written, 75 if another process uses the data directory, the clock is wrong beyond doubt, or there
// are too few threads or too little memory, 78 for an invalid configuration or damaged data.
int run_server(const ServeOptions& options, const StageRetention& stage_retention);

}  // namespace signalbox
