// The station `merge`: merges verified work into the newest base, in a worktree of its own. The
// stations after it judge the merge; `push` then publishes it.
#pragma once

#include "server/executors/builtin/builtin_station.h"

namespace signalbox {

// Makes the merge that the run's input describes: {"branch": …, "commit": …, "title": …}. The
// worktree at the workspace is on no branch. It is created anew each time, so that nothing of an
// interrupted merge is left. If the base already contains the commit, that is a success, and the
// summary says so.
//
// Errors: MERGE_CONFLICT (terminal) with the files; COMMIT_FAILED (terminal) where a hook refuses
// the commit; REPOSITORY_INVALID (config), also where it can't be signed; MERGE_INPUT_INVALID,
// BASE_NOT_BRANCH, BASE_NOT_FOUND, COMMIT_NOT_FOUND (config); REPOSITORY_AWAY, REPOSITORY_BUSY,
// FETCH_FAILED, WORKTREE_FAILED, GIT_FAILED, STORAGE_FAILED (transient).
BuiltinOutcome builtin_merge(const BuiltinRequest& request);

}  // namespace signalbox
