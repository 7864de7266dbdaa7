// The station `push`: publishes what a merge run merged and verified, by moving the base branch on
// to the worktree's HEAD. Never by force: what others put there meanwhile stays.
#pragma once

#include "server/executors/builtin/builtin_station.h"

namespace signalbox {

// Where a remote is configured, `git push` of HEAD to the base branch there. Without one the
// repository's own branch is moved on by compare-and-swap; where that branch is checked out, by a
// fast-forward in that worktree if nothing tracked in it is changed, else not at all.
//
// Can be repeated after a crash at any point: a HEAD that is on the base already is a success. The
// external ref of the result is HEAD.
//
// BASE_MOVED (terminal): somebody else moved the base on, so this merge wasn't what was verified.
// BASE_CHECKED_OUT (terminal), WORKSPACE_NOT_REPOSITORY, BASE_NOT_BRANCH, BASE_NOT_FOUND (config),
// PUSH_FAILED, FETCH_FAILED, REPOSITORY_BUSY, GIT_FAILED, STORAGE_FAILED (transient).
BuiltinOutcome builtin_push(const BuiltinRequest& request);

}  // namespace signalbox
