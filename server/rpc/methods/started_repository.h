// The check of the repository that a run names, before the run is recorded: a path that isn't there
// would be asked for again and again, as one whose disk isn't mounted yet.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "domain/command.h"
#include "server/rpc/method.h"

namespace signalbox {

struct RunnerParts;
// As is_missing_directory().
using IsMissing = std::function<bool(const std::string& path)>;

// Calls `then` on the engine's thread, at once or later, unless the service would execute the run's
// jobs and has no directory at the run's repository: calls `refused` then, with INVALID_PARAMS. A
// run with labels, or whose repository a runner offers, is left to runners; one without jobs, to
// its workers; and a path that the domain rejects by itself, to the domain. A disk that doesn't
// answer refuses nothing.
void with_repository(Api& api, const RunnerParts& runners, const IsMissing& is_missing,
                     const StartRun& command, std::function<void()> then,
                     std::function<void(const Rejection&)> refused);

}  // namespace signalbox
