// The commit of what a run's agent left in the workspace. Apart from create_pr, which publishes it:
// an agent leaves a worktree in any state.
#pragma once

#include <string>
#include <vector>

#include "server/executors/builtin/run_worktree.h"

namespace signalbox {

struct CommittedWork {
  std::string note;       // sentences for the summary, each after a line end; or empty
  std::string elsewhere;  // those of them about commits, and about submodules
  std::vector<std::string>
      ignored;                     // what isn't committed: ignored files, and directories ("out/")
  std::vector<std::string> large;  // untracked files that aren't committed for their size
  // Files of the base that aren't in the worktree, and may just be left out of it by a sparse
  // checkout: that they were deleted isn't committed.
  std::vector<std::string> sparse;
  std::vector<std::string> unreadable;  // directories that nobody can look into
};

// Commits all changes on the run's branch, with this title. A worktree that is on another branch or
// on none comes back to it with its HEAD; commits of the run's branch that this leaves out are kept
// by a ref, which the note names. Locks that killed git processes left in the worktree are removed.
//
// Untracked files that are too large (large_files.h) stay untracked, and the note names them.
//
// Errors: NESTED_REPOSITORY (terminal) for repositories in the workspace whose content no commit
// would hold; FILE_TOO_LARGE (terminal) for such files that are tracked, or in the branch's
// commits; LEFT_OUT_REFS_FULL (config) if another commit would have to be kept by a ref than
// limits::left_out_refs_max allow: nothing is moved then; REPOSITORY_INVALID (config) for a wrong
// setting of the size, or a commit that can't be signed; FILE_REFUSED (terminal) for a file that
// git doesn't take, whose filter isn't set up, or that has a merge's conflict, and COMMIT_FAILED
// (terminal); GIT_FAILED (transient).
tl::expected<CommittedWork, Failure> commit_work(const BuiltinRequest& request,
                                                 const PinnedRepository& pinned,
                                                 const GitPlace& place, const std::string& base,
                                                 const std::string& title);

}  // namespace signalbox
