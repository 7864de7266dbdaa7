// The station `intake`: creates the run's workspace.
#pragma once

#include "server/executors/builtin/builtin_station.h"

namespace signalbox {

// Creates the workspace: an empty directory for a run without a repository; else a git worktree on
// a new branch from the base (intake_base.h). The base is pinned with the repository for
// the stations that judge the work.
//
// Can be repeated after a crash at any point. A complete worktree on the run's branch is accepted;
// one that git didn't finish is created again. Anything else at that path is renamed to
// workspace.set-aside-N, never removed. The repository is pinned (pinned_repository.h), with the
// base commit, for the stations that come after an agent.
//
// Errors: REPOSITORY_INVALID, BASE_NOT_FOUND (config); REPOSITORY_AWAY, REPOSITORY_BUSY,
// WORKTREE_FAILED, STORAGE_FAILED (transient).
BuiltinOutcome builtin_intake(const BuiltinRequest& request);

}  // namespace signalbox
