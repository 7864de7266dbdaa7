// The station `intake`: creates the run's workspace.
#pragma once

#include "server/executors/builtin/builtin_station.h"

namespace signalbox {

// Creates the workspace: an empty directory for a run without a repository; else a git worktree on
// a new branch from the base (intake_base.h). The base is recorded for create_pr.
//
// Can be repeated after a crash at any point. A complete worktree on the run's branch is accepted;
// one that git didn't finish is created again. Anything else at that path is renamed to
// workspace.set-aside-N, never removed. The repository is pinned (pinned_repository.h), with the
// base commit, for the stations that come after an agent.
//
// Errors: REPOSITORY_INVALID, BASE_NOT_FOUND (config); REPOSITORY_AWAY, REPOSITORY_BUSY,
// WORKTREE_FAILED, STORAGE_FAILED (transient).
BuiltinOutcome builtin_intake(const BuiltinRequest& request);

// Returns the commit that intake resolved, from a file in the run root; empty if there is none. An
// agent can write that file: only intake itself, and a run that an earlier version began, use it.
std::string resolved_base(const BuiltinRequest& request);

}  // namespace signalbox
