// The station `push`: publishes the verified merge of a merge run by moving the base branch to the
// worktree's HEAD, or to what `merge` made if only checks came after it. It never forces the
// update: commits that others pushed meanwhile stay, and those that others took out of the base
// stay out.
#pragma once

#include "server/executors/builtin/builtin_station.h"

namespace signalbox {

// Pushes HEAD to the base branch of the configured remote. Without a remote, it moves the
// repository's own branch by compare-and-swap. If that branch is checked out, it is fast-forwarded
// in that worktree, provided that no tracked file is changed there; else it isn't moved.
//
// Then the branch that was merged is removed from the remote, if it is a run's, and if all commits
// that it has there are in HEAD. If that isn't possible, the summary says so.
//
// Can be repeated after a crash at any point: if the base already contains HEAD, that is a success.
// The external ref of the result is HEAD.
//
// Errors: BASE_MOVED (terminal): the base was moved by others, on or back, so the verified merge is
// outdated.
// BASE_CHECKED_OUT (terminal); WORKSPACE_NOT_REPOSITORY, WORKSPACE_TAMPERED, BASE_UNKNOWN,
// BASE_NOT_BRANCH, BASE_NOT_FOUND (config); PUSH_FAILED, FETCH_FAILED, REPOSITORY_BUSY, GIT_FAILED,
// STORAGE_FAILED (transient).
BuiltinOutcome builtin_push(const BuiltinRequest& request);

}  // namespace signalbox
