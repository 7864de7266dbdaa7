#include "server/git/run_branch_removal.h"

#include <algorithm>
#include <system_error>

#include "server/git/git_command.h"
#include "server/git/path_facts.h"
#include "server/git/repository_lock.h"
#include "server/git/worktree_list.h"

namespace signalbox {

BranchOutcome remove_merged_branch(const std::filesystem::path& repository,
                                   const std::string& branch, bool is_dry,
                                   const std::vector<std::filesystem::path>& gone) {
  const auto kept = [](std::string reason) {
    return BranchOutcome{BranchRemoval::kept, std::move(reason)};
  };
  std::error_code error;
  if (!std::filesystem::exists(repository, error) && !error) {
    return {BranchRemoval::nothing_there, {}};
  }
  const auto lock = RepositoryLock::take(repository);
  if (!lock) return kept(lock.error());
  const std::string ref = "refs/heads/" + branch;
  const GitOutcome found = git(repository, {"for-each-ref", "--format=%(objectname)", "--", ref});
  if (!found.ok) return kept("git for-each-ref: " + found.message);
  const std::string head = found.line();
  if (head.empty()) return {BranchRemoval::nothing_there, {}};
  const auto worktrees = list_worktrees(repository);
  if (!worktrees) return kept(worktrees.error());
  for (const ListedWorktree& each : *worktrees) {
    if (each.branch != branch) continue;
    const bool will_be_gone = is_dry && std::ranges::any_of(gone, [&each](const auto& path) {
                                return resolved_path(path) == resolved_path(each.path);
                              });
    if (!will_be_gone) return kept("it is checked out at " + each.path.string());
  }
  // The refs of other runs' bases go with their worktrees, so they keep no commits.
  const GitOutcome unmerged =
      git(repository, {"rev-list", "--max-count=1", head, "--not", "--exclude=" + ref,
                       "--exclude=refs/signalbox/base/*", "--glob=refs/*"});
  if (!unmerged.ok) return kept("git rev-list: " + unmerged.message);
  if (!unmerged.line().empty()) return kept("it has commits that no other ref has");
  if (is_dry) return {BranchRemoval::removed, {}};
  const GitOutcome removed = git(repository, {"update-ref", "--no-deref", "-d", ref, head});
  if (!removed.ok) return kept("git update-ref: " + removed.message);
  return {BranchRemoval::removed, {}};
}

}  // namespace signalbox
