// `signalbox serve`: the service from opening the log to a clean stop. It has more than one life
// where retentions lie between them.
#pragma once

#include "server/config.h"
#include "server/scheduler/retention_outcome.h"

namespace signalbox {

// Serves until SIGTERM or SIGINT; away now and then, to carry out what the configuration's
// retention says by `retain`. Gives the exit code: 0 after a clean stop, 74 the log couldn't be
// written, 75 another process has the directory, 78 configuration or damaged data.
int run_server(const ServeOptions& options, const RetainRecords& retain);

}  // namespace signalbox
