#include "server/git/orphan_worktrees.h"

#include "domain/ids.h"
#include "domain/try.h"
#include "server/git/git_command.h"
#include "server/git/path_facts.h"
#include "server/git/unsaved_work.h"
#include "server/git/worktree_list.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

// Returns the run id in `<runs directory>/<run id>/<name>`; empty for any other path.
std::string run_id_of(const fs::path& path, const fs::path& runs_directory) {
  if (path.parent_path().parent_path() != runs_directory) return {};
  std::string name = path.parent_path().filename().string();
  return parse_uuid(name) ? name : std::string();
}

std::string reason_to_keep(const fs::path& path) {
  if (path.filename().string().starts_with("merge-")) return "it may hold a merge to be looked at";
  if (!is_there(path)) return {};  // the directory is gone, only git's list still has it
  GitOptions bounded;
  bounded.timeout_ms = limits::removal_git_ms_max;
  const GitOutcome own = git(path, {"rev-parse", "--absolute-git-dir"}, bounded);
  if (own.ok && is_unfinished_worktree(own.line())) return {};
  const auto work = find_unsaved_work(path, false);
  if (!work) return "it can't be looked at: " + work.error();
  if (work->uncommitted) return "it has uncommitted work";
  if (work->unnamed_commits) return "it has commits that no branch has";
  return {};
}

}  // namespace

tl::expected<std::vector<OrphanWorktree>, std::string> list_orphans(const fs::path& repository,
                                                                    const fs::path& runs_directory,
                                                                    const IsLive& is_live) {
  const auto listed = TRY(list_worktrees(repository));
  const fs::path runs = resolved_path(runs_directory);
  std::vector<OrphanWorktree> orphans;
  for (const ListedWorktree& each : listed) {
    const std::string run_id = run_id_of(each.path, runs);
    if (run_id.empty() || is_live(run_id)) continue;
    orphans.push_back({each.path, run_id, each.branch, reason_to_keep(each.path)});
  }
  return orphans;
}

tl::expected<std::vector<OrphanOutcome>, std::string> remove_orphans(const fs::path& repository,
                                                                     const fs::path& runs_directory,
                                                                     const IsLive& is_live) {
  const auto orphans = TRY(list_orphans(repository, runs_directory, is_live));
  std::vector<OrphanOutcome> outcomes;
  for (const OrphanWorktree& orphan : orphans) {
    RemovalOutcome outcome{Removal::left, {}, orphan.left_because};
    if (orphan.left_because.empty()) {
      RemovalRequest request{repository, orphan.path, orphan.run_id, orphan.branch};
      request.rescue_unsaved = false;  // work that was added after the check keeps the worktree
      outcome = remove_worktree(request);
      if (outcome.result == Removal::nothing_there) outcome.result = Removal::removed;
    }
    outcomes.push_back({orphan, std::move(outcome)});
  }
  return outcomes;
}

}  // namespace signalbox
