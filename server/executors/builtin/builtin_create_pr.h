// The station `create_pr`: what the run changed, as a branch, a patch and a pull-request text.
#pragma once

#include "server/executors/builtin/builtin_station.h"

namespace signalbox {

// Commits what isn't committed yet, writes `change.patch` and `pull_request.md`, and pushes the
// branch where a remote is configured. Can be repeated after a crash at any point: then there is
// nothing new to commit, and the push finds the branch there.
//
// The repository's hooks are honoured: they are its owner's policy (secret scans, fences), which an
// unattended run has even less business to skip than a person. The external ref of its result is
// the commit that was pushed, or would have been.
//
// WORKSPACE_NOT_REPOSITORY (config), NOTHING_TO_PROPOSE, COMMIT_FAILED (terminal), GIT_FAILED,
// STORAGE_FAILED, PUSH_FAILED (transient).
BuiltinOutcome builtin_create_pr(const BuiltinRequest& request);

}  // namespace signalbox
