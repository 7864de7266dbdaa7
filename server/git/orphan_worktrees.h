// Orphan worktrees: those whose run is over for good, such as a crash leaves behind. The server
// removes the clean ones when it starts (server/board/worktree_keeper.h).
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "server/git/worktree_removal.h"

namespace signalbox {

struct OrphanWorktree {
  std::filesystem::path path;
  std::string run_id;
  std::string branch;        // empty where it is on none
  std::string left_because;  // why it must stay; empty: it is clean and can be removed
};

// Returns the ids of the runs that have a worktree of `repository` below `runs_directory`
// (`<run id>/<name>`). Looks into none of them: a run may be live, and its intake under way. Blocks
// on git. Error: a sentence that says why the worktrees can't be listed.
tl::expected<std::set<std::string>, std::string> list_runs_with_worktrees(
    const std::filesystem::path& repository, const std::filesystem::path& runs_directory);

// Lists those worktrees whose run is one of `over`, runs that are over for good. Those named
// `merge-*` and those with unsaved work get a `left_because`. Looks into each under the
// repository's lock. Blocks and fails as above.
tl::expected<std::vector<OrphanWorktree>, std::string> list_orphans(
    const std::filesystem::path& repository, const std::filesystem::path& runs_directory,
    const std::set<std::string>& over);

// What remove_orphans() did with one orphan.
struct OrphanOutcome {
  OrphanWorktree orphan;
  RemovalOutcome outcome;  // `left` with the reason, or `removed`
};

// Removes the orphans whose `left_because` is empty and returns an outcome for every orphan. Error:
// as list_orphans(). Blocks as remove_worktree() does. Any thread.
tl::expected<std::vector<OrphanOutcome>, std::string> remove_orphans(
    const std::filesystem::path& repository, const std::filesystem::path& runs_directory,
    const std::set<std::string>& over);

}  // namespace signalbox
