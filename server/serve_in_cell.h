// The life of a server in a cell: it joins, stands by, serves while it writes the cell's log, and
// stands by again once another server does, or once its disk has space again.
#pragma once

#include <memory>
#include <optional>

#include <spdlog/logger.h>

#include "server/config.h"
#include "server/engine/recovery.h"
#include "server/platform/start_progress.h"
#include "server/platform/stop_deadline.h"
#include "server/server.h"

namespace signalbox {

// Blocks until this server of `config.cell` was told to stop, or failed. Returns the exit code of
// the process; errors and `stop_deadline` as those of serve_log(). `given.cell` is set here, and
// `given.job_key` becomes the cell's.
Stored<int> serve_in_cell(Config& config, Server::Given given, Recovered& recovered,
                          std::unique_ptr<StartProgress> progress,
                          std::optional<StopDeadline>& stop_deadline, spdlog::logger& logger);

}  // namespace signalbox
