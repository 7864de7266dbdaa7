// The station `intake`: makes the run's workspace.
#pragma once

#include "server/executors/builtin/builtin_station.h"

namespace signalbox {

// Without a repository, an empty directory. With one, a git worktree at the workspace, on a new
// branch from the base (HEAD where none is given), which is remembered for create_pr.
//
// Can be repeated after a crash at any point: a worktree that is right is accepted, one that git
// didn't finish is made again, and anything else that stands in the way is renamed to
// workspace.set-aside-N, never removed.
//
// REPOSITORY_INVALID, BASE_NOT_FOUND (config), WORKTREE_FAILED, STORAGE_FAILED, REPOSITORY_BUSY
// (transient).
BuiltinOutcome builtin_intake(const BuiltinRequest& request);

// The commit that the run's branch started from, as intake left it; empty if it didn't.
std::string remembered_base(const BuiltinRequest& request);

}  // namespace signalbox
