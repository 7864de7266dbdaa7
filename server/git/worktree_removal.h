// The end of a run's worktree: what is in it and nowhere else is kept, then it goes.
#pragma once

#include <filesystem>
#include <string>

namespace signalbox {

struct RemovalRequest {
  std::filesystem::path repository;  // absolute
  std::filesystem::path path;        // of the worktree; absolute
  std::string run_id;
  std::string branch;          // of the run, for who finds the rescued work
  bool run_live = false;       // then nothing is removed
  bool rescue_unsaved = true;  // false: a worktree with unsaved work is left instead
};

enum class Removal {
  removed,
  nothing_there,
  left,  // all of it or some of it: see `reason`
};

struct RemovalOutcome {
  Removal result = Removal::left;
  std::string rescue_ref;  // where its unsaved work is, or empty
  std::string reason;      // of one that is left: a sentence
};

// Removes the worktree and all that git knows of it; the branch stays. `.smoke-data` in it goes
// first. Uncommitted work, tracked or not, is committed to refs/signalbox/rescue/<run id> before;
// what git ignores isn't kept. Left are: the worktree of a run that goes on, what isn't a worktree
// of this repository or is the repository itself, and work that a commit can't hold (a repository
// within, a changed submodule).
//
// Blocks, for as long as git does: each of its calls is bounded by removal_git_ms_max. May be
// called again after a crash at any point, and gives then what it would have given. Any thread.
RemovalOutcome remove_worktree(const RemovalRequest& request);

}  // namespace signalbox
