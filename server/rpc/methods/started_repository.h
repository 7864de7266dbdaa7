// The check of the repository that a run names, before the run is recorded: a path that isn't there
// would be asked for again and again, as one whose disk isn't mounted yet, and in one that is no
// repository the run would fail at once.
#pragma once

#include <functional>

#include "domain/command.h"
#include "server/board/repository_check.h"
#include "server/rpc/method.h"

namespace signalbox {

struct RunnerParts;

// Calls `then` on the engine's thread, at once or later, unless the service would execute the run's
// jobs and has no directory at the run's repository, or the run has an intake and what is there is
// no repository's root: calls `refused` then, with INVALID_PARAMS. A run with labels, or whose
// repository a runner offers, is left to runners; one without jobs, to its workers; and a path that
// the domain rejects by itself, to the domain. A disk that doesn't answer refuses nothing.
void with_repository(Api& api, const RunnerParts& runners, const FindRepositoryFault& find_fault,
                     const StartRun& command, std::function<void()> then,
                     std::function<void(const Rejection&)> refused);

}  // namespace signalbox
