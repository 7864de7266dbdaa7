// The station `create_pr`: turns the run's changes into a branch, a patch and the text of a pull
// request.
#pragma once

#include "server/executors/builtin/builtin_station.h"

namespace signalbox {

// Commits uncommitted changes (work_commit.h), writes `change.patch` and `pull_request.md`, and
// pushes the branch where a remote is configured. Ignored files aren't committed, nor large ones
// that aren't tracked: the artifact `left_out.txt` lists them. Files that decide how work is
// checked and that the commits change are named in pull_request.md, in the metadata and in
// checks_changed.txt; if the policy refuses them, nothing is pushed. Can be repeated after a crash
// at any point: then there is nothing left to commit, and the push finds the branch up to date.
//
// The repository's hooks and filters are honoured as intake found them. They are its owner's policy
// (secret scans, fences), which an unattended run must not skip; those that an agent set up are not
// run, and the remote is the one that intake saw. The external ref of the result is the commit that
// was pushed, or would have been without a remote.
//
// Errors: WORKSPACE_NOT_REPOSITORY, WORKSPACE_TAMPERED, BASE_UNKNOWN, REPOSITORY_DAMAGED,
// CHECKS_CHANGED, LEFT_OUT_REFS_FULL (config); NOTHING_TO_PROPOSE, COMMIT_FAILED,
// NESTED_REPOSITORY, FILE_TOO_LARGE, FILE_REFUSED (terminal); GIT_FAILED, STORAGE_FAILED,
// PUSH_FAILED (transient).
BuiltinOutcome builtin_create_pr(const BuiltinRequest& request);

}  // namespace signalbox
