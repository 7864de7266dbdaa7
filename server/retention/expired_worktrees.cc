// The worktrees and branches of ExpiredRunFiles. Work that exists nowhere else keeps both.
#include <set>

#include "server/git/fence_marker.h"
#include "server/git/path_facts.h"
#include "server/git/pinned_repository.h"
#include "server/git/run_branch.h"
#include "server/git/run_branch_removal.h"
#include "server/git/unsaved_work.h"
#include "server/git/worktree_list.h"
#include "server/git/worktree_removal.h"
#include "server/retention/directory_names.h"
#include "server/retention/expired_run_files.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

}  // namespace

// Removes the worktrees in the run root. Returns false if one has to stay: then all else of the run
// does, too, because it may be needed to understand the work.
bool ExpiredRunFiles::remove_worktrees(const ExpiredRun& run, Worktrees what, Freed& freed) {
  const fs::path root(run.root);
  const auto kept = [&](const fs::path& path, const std::string& reason) {
    keep(run, path.string(), reason);
    return false;
  };
  if (is_there(root) && !is_plain_directory(root) && !run.is_named) {
    return kept(root, "it is not a directory");
  }
  std::set<std::string> names;
  for (const std::string& name : names_in(root)) {
    if (name.find(".set-aside-") != std::string::npos) {
      return kept(root / name, "it was there before the run's worktree");
    }
    const std::string base = base_name_of(name);
    if (base == "workspace" || base.starts_with("merge-")) {
      names.insert(base);
    } else if (!run.is_named && is_there(root / name / ".git")) {
      return kept(root / name, "it is a git repository of its own");
    }
  }
  // One that is gone may still be in git's list.
  if (names.empty() && !run.repository.empty()) names.insert("workspace");
  for (const std::string& name : names) {
    const fs::path path = root / name;
    const bool is_repository = is_there(path / ".git") || is_there(path.string() + removing_suffix);
    if (is_there(path) && !is_plain_directory(path)) return kept(path, "it is not a directory");
    if (is_there(path) && !is_repository) {
      // The files of a worktree without its .git are work that nothing else has.
      const auto inside = names_in(path);
      if (!run.repository.empty() && !inside.empty()) return kept(path, "its .git is gone");
      for (const std::string& each : inside) {
        if (is_there(path / each / ".git")) {
          return kept(path / each, "it is a git repository of its own");
        }
      }
      continue;  // a directory that goes with the run root
    }
    if (run.repository.empty()) {
      if (is_repository) return kept(path, "it is a git repository of its own");
      continue;
    }
    if (!is_there(run.repository)) {
      if (is_repository) return kept(path, "its repository " + run.repository + " is gone");
      continue;
    }
    if (what == Worktrees::look_at) {
      const std::string reason = reason_to_keep_worktree(run, path);
      if (!reason.empty()) return kept(path, reason);
      continue;
    }
    RemovalRequest request;
    request.repository = run.repository;
    request.path = path;
    request.run_id = to_string(run.run_id);
    request.pins = parts_.data / pins_directory_name / request.run_id;
    request.branch = branch_of(run.run_id, run.started_at);
    request.rescue_unsaved = false;
    const auto size = measure_owned_tree(root, name, parts_.stopped);
    const RemovalOutcome outcome = remove_worktree(request);
    if (outcome.result == Removal::left) return kept(path, outcome.reason);
    if (size) freed.bytes += size->bytes;
  }
  return true;
}

// Returns why remove_worktree() would leave the worktree; empty if it would remove it.
std::string ExpiredRunFiles::reason_to_keep_worktree(const ExpiredRun& run,
                                                     const fs::path& path) const {
  if (!is_there(path)) return {};
  const fs::path pins = parts_.data / pins_directory_name / to_string(run.run_id);
  if (round_.is_dry && !PinnedRepository::open_recorded(pins)) return {};  // a round pins it
  const auto pinned = PinnedRepository::open(pins, run.repository);
  if (!pinned) return "it can't be looked at: " + pinned.error();
  const auto place = pinned->place_of(path);
  if (!place) return "it can't be looked at: " + place.error();
  if (is_unfinished_worktree(place->git_directory)) return {};
  const auto marker = read_fence_marker(place->git_directory);
  if (marker ? marker->run_id != to_string(run.run_id) : run.is_named) {
    return "it isn't known to be this run's";
  }
  const bool is_merge = path.filename().string().starts_with("merge-");
  const auto work = find_unsaved_work(path, *place, is_merge);
  if (!work) return "it can't be looked at: " + work.error();
  if (work->uncommitted) return "it has uncommitted work";
  return work->unnamed_commits ? "it has commits that no branch has" : "";
}

void ExpiredRunFiles::remove_branch(const ExpiredRun& run, Freed& freed) {
  if (run.repository.empty() || run.started_at == 0) return;
  const std::string branch = branch_of(run.run_id, run.started_at);
  const BranchOutcome outcome = remove_merged_branch(run.repository, branch, round_.is_dry);
  if (outcome.result != BranchRemoval::kept) return;
  freed.is_complete = false;
  keep(run, "branch " + branch + " of " + run.repository, outcome.reason);
}

}  // namespace signalbox
