// The station `merge`: verified work, merged into the newest base in a worktree of its own. What
// the merge is worth is for the stations behind it to say; `push` then publishes it.
#pragma once

#include "server/executors/builtin/builtin_station.h"

namespace signalbox {

// The run's input says what: {"branch": …, "commit": …, "title": …}. The worktree at the workspace
// is on no branch; it is made anew each time, so that nothing of a merge that was cut off is left.
// A base that has the commit already is a success that says so.
//
// MERGE_CONFLICT (terminal) with the files; MERGE_INPUT_INVALID, REPOSITORY_INVALID,
// BASE_NOT_BRANCH, BASE_NOT_FOUND, COMMIT_NOT_FOUND (config); COMMIT_FAILED (terminal) where a hook
// refuses it; FETCH_FAILED, REPOSITORY_BUSY, WORKTREE_FAILED, GIT_FAILED, STORAGE_FAILED
// (transient).
BuiltinOutcome builtin_merge(const BuiltinRequest& request);

}  // namespace signalbox
