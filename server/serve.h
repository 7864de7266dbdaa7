// `signalbox serve`: the service from opening the log to a clean stop. For each
// retention it stops serving, and starts again in the same process.
#pragma once

#include "server/config.h"
#include "server/scheduler/retention_outcome.h"

namespace signalbox {

// Serves until SIGTERM or SIGINT, with pauses in which `retain` carries out the configuration's
// retention. Gives the exit code: 0 after a clean stop, 74 the log couldn't be
// written, 75 another process has the directory, 78 configuration or damaged data.
int run_server(const ServeOptions& options, const RetainRecords& retain);

}  // namespace signalbox
