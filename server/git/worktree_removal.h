// Removes a run's worktree, after keeping the work that exists nowhere else.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace signalbox {

inline constexpr std::size_t ignored_names_max = 8;

struct RemovalRequest {
  std::filesystem::path repository;  // absolute
  std::filesystem::path path;        // the worktree's directory; absolute
  std::string run_id;
  // Where the run's stations pinned the repository (pinned_repository.h); it goes with the
  // worktree.
  std::filesystem::path pins;
  std::string branch;          // the run's branch, named in the rescue commit's message
  bool run_live = false;       // true: nothing is removed
  bool rescue_unsaved = true;  // false: a worktree with unsaved work is left as it is
  // Commits that only the run's branch has count as unsaved work: somebody is to find them by the
  // rescue ref.
  bool keeps_branch_work = false;
  // Others may use the path as well: a worktree that isn't known to be this run's is left.
  bool is_shared = false;
  // The open directory in which `path` is (held_directory()): the worktree is removed from there,
  // wherever the names that lead there lead by then. Empty: nobody exchanges directories on the
  // way.
  std::filesystem::path held_parent = {};
  bool only_look = false;  // nothing is kept or removed: the result says what would be
  // False: the ignored files are only in the outcome, because the list would go with the rest.
  bool writes_list = true;
};

// The ignored files of a worktree: they aren't kept.
struct IgnoredNames {
  std::size_t total = 0;
  std::vector<std::string> first;  // at most ignored_names_max; directories end with '/'
};

enum class Removal {
  removed,
  nothing_there,
  left,  // the worktree or a part of it remains: see `reason`
};

struct RemovalOutcome {
  Removal result = Removal::left;
  std::string rescue_ref;  // the ref that holds its unsaved work, or empty
  std::string reason;      // a sentence in UTF-8, if the result is `left`
  IgnoredNames ignored = {};
};

// Removes the worktree and git's record of it; the branch stays. `.smoke-data` in it doesn't count
// as work. Uncommitted work, tracked or not, is committed to refs/signalbox/rescue/<run id> before
// the removal, and so are commits that only the record names, also where the files are gone: then
// what was staged is committed. Ignored files aren't kept; the file left_out.txt beside the
// worktree lists them (left_out-<run id>.txt in a directory that runs share), unless the request
// says otherwise.
//
// Five kinds are left: the worktree of a live run; a path that isn't a worktree of this repository
// (any more: its `.git` was replaced) or is the repository itself; the worktree of another run, by
// its fence marker, or git's record of one whose directory isn't there; the record of one in a
// shared directory that isn't there, such as on a disk that isn't mounted; and work that a commit
// can't hold (a nested repository, a changed submodule or one with commits of its own, another
// worktree inside with work, a directory that can't be read, objects that the repository borrows).
// All of that is examined under the repository's lock, under which worktrees are made, too.
//
// Blocks for as long as git does: each git call is bounded by removal_git_ms_max. May be called
// again after a crash at any point, with the same result. Any thread.
RemovalOutcome remove_worktree(const RemovalRequest& request);

}  // namespace signalbox
