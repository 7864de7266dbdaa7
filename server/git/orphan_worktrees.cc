#include "server/git/orphan_worktrees.h"

#include <utility>

#include "domain/ids.h"
#include "domain/try.h"
#include "server/git/path_facts.h"
#include "server/git/pinned_repository.h"
#include "server/git/repository_lock.h"
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

// Returns where the run's repository is pinned.
fs::path pins_of(const fs::path& runs_directory, const std::string& run_id) {
  return runs_directory.parent_path() / pins_directory_name / run_id;
}

std::string reason_to_keep(const fs::path& repository, const fs::path& path, const fs::path& pins) {
  if (is_merge_worktree(path)) return "it may hold a merge to be looked at";
  // The directory is gone, only git has it on record: remove_worktree() looks at that.
  if (!is_there(path)) return {};
  // Another one may be looking into it, such as the retention of files, with the same directory.
  const auto lock = RepositoryLock::take(repository);
  if (!lock) return "it can't be read: " + lock.error();
  auto pinned = PinnedRepository::open(pins, repository);
  if (pinned) pinned = pinned->for_service();
  const auto place = pinned ? pinned->place_of(path) : tl::unexpected(pinned.error());
  if (!place) return "it can't be read: " + place.error();
  if (pinned->is_untouched(*place)) return {};
  const auto work = find_unsaved_work(path, *place, false);
  if (!work) return "it can't be read: " + work.error();
  if (work->uncommitted) return "it has uncommitted work";
  if (work->unnamed_commits) return "it has commits that no branch has";
  return {};
}

}  // namespace

tl::expected<std::set<std::string>, std::string> list_runs_with_worktrees(
    const fs::path& repository, const fs::path& runs_directory) {
  const auto listed = TRY(list_worktrees(repository));
  const fs::path runs = resolved_path(runs_directory);
  std::set<std::string> run_ids;
  for (const ListedWorktree& each : listed) {
    if (std::string run_id = run_id_of(each.path, runs); !run_id.empty()) {
      run_ids.insert(std::move(run_id));
    }
  }
  return run_ids;
}

tl::expected<std::vector<OrphanWorktree>, std::string> list_orphans(
    const fs::path& repository, const fs::path& runs_directory, const std::set<std::string>& over) {
  const auto listed = TRY(list_worktrees(repository));
  const fs::path runs = resolved_path(runs_directory);
  std::vector<OrphanWorktree> orphans;
  for (const ListedWorktree& each : listed) {
    const std::string run_id = run_id_of(each.path, runs);
    if (!over.contains(run_id)) continue;
    orphans.push_back({each.path, run_id, each.branch,
                       reason_to_keep(repository, each.path, pins_of(runs_directory, run_id))});
  }
  return orphans;
}

tl::expected<std::vector<OrphanOutcome>, std::string> remove_orphans(
    const fs::path& repository, const fs::path& runs_directory, const std::set<std::string>& over) {
  const auto orphans = TRY(list_orphans(repository, runs_directory, over));
  std::vector<OrphanOutcome> outcomes;
  for (const OrphanWorktree& orphan : orphans) {
    RemovalOutcome outcome{Removal::left, {}, orphan.left_because};
    if (orphan.left_because.empty()) {
      RemovalRequest request{repository, orphan.path, orphan.run_id,
                             pins_of(runs_directory, orphan.run_id), orphan.branch};
      request.rescue_unsaved = false;  // work that was added after the check keeps the worktree
      outcome = remove_worktree(request);
      if (outcome.result == Removal::nothing_there) outcome.result = Removal::removed;
    }
    outcomes.push_back({orphan, std::move(outcome)});
  }
  return outcomes;
}

}  // namespace signalbox
