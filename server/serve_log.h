// One Server over a recovered log, from the read models to its end. A server of a cell has one
// after another, since it stands by again whenever another one has taken the cell.
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

// How serving ended.
struct Served {
  int exit_code = 0;
  ServerEnd end = ServerEnd::stopped;
};

// Brings up the read models and blocks until the Server over `recovered` has ended. `progress` ends
// once it serves. The read models are closed on return. After a failure `stop_deadline` is set on
// return, and the process has to end; it ends here if threads hang. Fails if the read models can't
// be opened or the log can't be read.
Stored<Served> serve_log(Config& config, const Server::Given& given, Recovered& recovered,
                         std::unique_ptr<StartProgress> progress,
                         std::optional<StopDeadline>& stop_deadline, spdlog::logger& logger);

}  // namespace signalbox
