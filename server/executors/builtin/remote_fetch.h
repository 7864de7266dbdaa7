// Fetches from the remote of a built-in station.
#pragma once

#include <string>
#include <vector>

#include "server/executors/builtin/builtin_station.h"
#include "server/git/git_command.h"
#include "server/git/pinned_repository.h"

namespace signalbox {

// Fetches the refspecs from the request's remote, without tags, and updates no ref but those that
// they name: the lock of a tracking branch would stay behind a kill and block every other fetch.
// While another run's worktree is made, git takes its HEAD of zeros for a commit that the
// repository lacks, and a fetch fails: it is repeated once none is made. A worktree of this service
// whose making was cut short is mended for that. Blocks on git. Returns what git says.
GitOutcome fetch_from_remote(const BuiltinRequest& request, const PinnedRepository& pinned,
                             const std::vector<std::string>& refspecs,
                             const GitOptions& options = {});

}  // namespace signalbox
