// The refs of ExpiredRunFiles: branches and rescue refs of runs that ended long ago. What nothing
// else has goes only after the age that the operator has set, and only what has the name of a run
// that the log has. Once records were dropped, a run that it doesn't have counts as one of those in
// a repository. At a remote, where other servers may push, only one does of which a marker says
// that its files were removed here.
#include <algorithm>
#include <iterator>
#include <utility>

#include "domain/limits.h"
#include "domain/nanoseconds.h"
#include "domain/try.h"
#include "server/git/path_facts.h"
#include "server/git/pinned_repository.h"
#include "server/git/run_branch.h"
#include "server/git/run_branch_removal.h"
#include "server/git/tree_removal.h"
#include "server/limits.h"
#include "server/platform/call_bounds.h"
#include "server/retention/expired_run_files.h"
#include "store/durable_file.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

// Beside the pinned repositories of runs; no run has that name. What a kill leaves there goes with
// the next repository.
constexpr const char* refs_scratch_name = "run-refs";

void count_stored(StoredRefs& refs, const RunRef& ref, bool is_remote) {
  std::uint64_t& count = is_remote         ? refs.remote_branches
                         : ref.is_branch() ? refs.branches
                                           : refs.rescue_refs;
  ++count;
  const std::int64_t at_ns = std::max(ref.at_ns, start_of_run_ns(ref.run_id).value_or(0));
  if (at_ns != 0 && (refs.oldest_ns == 0 || at_ns < refs.oldest_ns)) refs.oldest_ns = at_ns;
}

// Returns how a branch that stays with its commits is named.
std::string kept_branch_text(const std::string& repository, const std::string& branch) {
  return "branch " + branch + " of " + repository;
}

bool has_ref(const std::vector<KeptRef>& kept, const RunRef& ref) {
  return std::ranges::any_of(kept,
                             [&ref](const KeptRef& each) { return each.ref.name == ref.name; });
}

}  // namespace

void ExpiredRunFiles::list_repositories() {
  repositories_.clear();
  for (const RunRepository& each : round_.repositories) {
    std::set<std::string>& remotes = repositories_[each.path];
    if (!each.remote.empty()) remotes.insert(each.remote);
  }
  for (const std::string& each : run_repositories_.paths()) repositories_.try_emplace(each);
  next_repository_ = repositories_.cbegin();
  are_repositories_listed_ = true;
  if (!round_.is_dry) (void)run_repositories_.save();  // else the next round does
  if (!run_repositories_.is_full()) return;
  StoredRefs full;
  full.repository = run_repositories_.file().string();
  full.trouble =
      "it is full, so that refs in the repositories of further runs aren't found after a start";
  report_.refs.push_back(std::move(full));
}

Stored<bool> ExpiredRunFiles::remove_refs(const NeededWork& needed) {
  needed_ = needed;
  std::ranges::sort(needed_.runs);
  std::ranges::sort(needed_.cards);
  if (!are_repositories_listed_) list_repositories();
  if (next_repository_ == repositories_.cend() || parts_.stopped) {
    if (!round_.is_dry) (void)run_repositories_.save();  // else the next round does
    if (!round_.is_dry && !parts_.stopped) prune_markers();
    return false;
  }
  const CallBounds bounds(CallBounds::now_ms() + limits::worktree_removal_ms_max, &parts_.stopped);
  const auto& [path, remotes] = *next_repository_++;
  if (!is_there(path)) {
    // Its disk may just not be mounted.
    if (!remotes.empty()) are_remotes_known_ = false;
    if (!round_.is_dry && run_repositories_.is_full()) run_repositories_.remove(path);
    return true;
  }
  StoredRefs refs;
  refs.repository = path;
  TRY(remove_local_refs({path, {}}, refs));
  const bool is_known = refs.trouble.empty() && !parts_.stopped;
  if (is_known && !round_.is_dry && refs.branches + refs.rescue_refs == 0) {
    run_repositories_.remove(path);
  }
  if (round_.branches_ms) {
    for (const std::string& remote : remotes) TRY(remove_at_remote({path, remote}, refs));
  }
  const bool has_some = refs.branches + refs.rescue_refs + refs.remote_branches > 0;
  if ((has_some || !refs.trouble.empty()) &&
      report_.refs.size() < limits::file_retention_rows_max) {
    report_.refs.push_back(std::move(refs));
  }
  return true;
}

Stored<void> ExpiredRunFiles::remove_local_refs(const RunRepository& repository, StoredRefs& refs) {
  const fs::path scratch = parts_.data / pins_directory_name / refs_scratch_name;
  TRY(make_directories(scratch));
  const auto listed = list_run_refs(repository.path, scratch);
  (void)signalbox::remove_tree(scratch);
  if (!listed) {
    refs.trouble = listed.error();
    return {};
  }
  std::vector<RunRef> going;
  std::size_t looked_at = 0;
  for (const RunRef& ref : *listed) {
    if (parts_.stopped) return {};
    if (going.size() < limits::file_retention_refs_max && TRY(is_given_up(repository, ref))) {
      going.push_back(ref);
      continue;
    }
    // The branch of a run that the log has is removed by remove_branch().
    const bool may_be_merged = ref.is_branch() && looked_at < limits::file_retention_refs_max;
    if (may_be_merged && TRY(was_dropped(ref.run_id))) {
      ++looked_at;
      const BranchOutcome outcome =
          remove_merged_branch(repository.path, ref.branch(), round_.is_dry);
      if (outcome.result == BranchRemoval::removed) {
        note_removed(repository, ref, refs);
        continue;
      }
    }
    count_stored(refs, ref, /*is_remote=*/false);
  }
  const std::vector<KeptRef> kept = remove_run_refs(repository.path, going, round_.is_dry);
  for (const KeptRef& each : kept) {
    count_stored(refs, each.ref, /*is_remote=*/false);
    name_kept_ref(repository, each);
  }
  for (const RunRef& ref : going) {
    if (has_ref(kept, ref)) continue;
    note_removed(repository, ref, refs);
  }
  return {};
}

// The remote is asked with nothing of the repository's configuration but where the remote is:
// agents work in that, and this isn't a job of theirs.
Stored<void> ExpiredRunFiles::remove_at_remote(const RunRepository& repository, StoredRefs& refs) {
  const fs::path pins = parts_.data / pins_directory_name / refs_scratch_name;
  const auto pinned = PinnedRepository::pin(pins, repository.path, ConfigTrust::nobodys);
  Stored<void> looked;
  if (pinned) {
    looked = look_at_remote(repository, *pinned, refs);
  } else {
    refs.trouble = pinned.error();
    are_remotes_known_ = false;
  }
  if (const auto gone = signalbox::remove_tree(pins); !gone && refs.trouble.empty()) {
    refs.trouble = gone.error();
  }
  return looked;
}

Stored<void> ExpiredRunFiles::look_at_remote(const RunRepository& repository,
                                             const PinnedRepository& pinned, StoredRefs& refs) {
  const auto listed = list_remote_branches(pinned, repository.remote,
                                           parts_.data / pins_directory_name / refs_scratch_name);
  if (!listed) {
    refs.trouble = repository.remote + ": " + listed.error();
    are_remotes_known_ = false;
    return {};
  }
  std::vector<RunRef> going;
  for (RunRef ref : *listed) {
    if (parts_.stopped) return {};
    // Asked before the commit is looked at, which takes a process.
    const bool may_go =
        going.size() < limits::file_retention_refs_max && TRY(is_given_up(repository, ref));
    const auto at_ns = may_go ? commit_time_ns(pinned, ref.object) : std::nullopt;
    ref.at_ns = at_ns.value_or(0);
    if (at_ns && TRY(is_given_up(repository, ref))) {
      going.push_back(ref);
      continue;
    }
    at_remotes_.insert(ref.run_id);
    count_stored(refs, ref, /*is_remote=*/true);
    if (may_go && !at_ns) name_kept_ref(repository, {ref, "its commit isn't in the repository"});
  }
  if (round_.is_dry) {
    for (const RunRef& ref : going) note_removed(repository, ref, refs);
    return {};
  }
  const auto removed = remove_remote_branches(pinned, repository.remote, going);
  for (const RunRef& ref : going) {
    if (removed) {
      note_removed(repository, ref, refs);
      continue;
    }
    at_remotes_.insert(ref.run_id);
    count_stored(refs, ref, /*is_remote=*/true);
    name_kept_ref(repository, {ref, removed.error()});
  }
  return {};
}

void ExpiredRunFiles::remove_branch(const ExpiredRun& run, const ClearedWorktrees& cleared,
                                    Freed& freed) {
  if (run.repository.empty() || run.started_at == 0) return;
  const std::string branch = branch_of(run.run_id, run.started_at);
  const BranchOutcome outcome =
      remove_merged_branch(run.repository, branch, round_.is_dry, cleared.gone);
  if (outcome.result != BranchRemoval::kept) return;
  keep_part(run, kept_branch_text(run.repository, branch), outcome.reason, freed);
}

Stored<bool> ExpiredRunFiles::is_given_up(const RunRepository& repository,
                                          const RunRef& ref) const {
  const RunId& run_id = ref.run_id;
  const auto started_ns = start_of_run_ns(run_id);
  if (!round_.branches_ms || !started_ns) return false;
  if (std::ranges::binary_search(needed_.runs, run_id)) return false;
  const auto is_old = [this](std::int64_t ns) {
    return (round_.now_ns - ns) / ns_per_ms >= *round_.branches_ms;
  };
  if (!is_old(*started_ns) || !is_old(ref.at_ns)) return false;
  const auto card = TRY(index().cards().find_by_run(run_id));
  if (card && std::ranges::binary_search(needed_.cards, card->card_id)) return false;
  const auto row = TRY(index().find(run_id));
  // Other servers push to the remote, too: a run that the log doesn't have may be theirs.
  if (!row) {
    return parts_.log.horizon().position != 0 &&
           (repository.remote.empty() || markers_.is_of_this_server(run_id));
  }
  if (!is_terminal(row->status) || row->ended_at_ns == 0 || !is_old(row->ended_at_ns)) return false;
  if (row->status != RunStatus::failed || markers_.has(run_id)) return true;
  return card.has_value();  // else it can be retried; a card gets another run
}

void ExpiredRunFiles::prune_markers() {
  const Position dropped_at = parts_.log.horizon().dropped_at;
  if (!are_remotes_known_ || pruned_at_ == dropped_at) return;
  std::size_t kept = 0;
  markers_.prune([&](const RunId& run_id) {
    const auto row = index().find(run_id);
    if (parts_.stopped || !row || row->has_value()) return true;
    return at_remotes_.contains(run_id) && ++kept <= limits::dropped_run_markers_max;
  });
  if (kept == 0) pruned_at_ = dropped_at;  // else the next round looks again
}

Stored<bool> ExpiredRunFiles::was_dropped(const RunId& run_id) const {
  const auto started_ns = start_of_run_ns(run_id);
  if (parts_.log.horizon().position == 0 || !started_ns) return false;
  const std::int64_t age_ms = std::max(round_.older_than_ms, round_.failed_runs_ms);
  if ((round_.now_ns - *started_ns) / ns_per_ms < age_ms) return false;
  const auto row = TRY(index().find(run_id));
  return !row.has_value();
}

void ExpiredRunFiles::name_kept_ref(const RunRepository& repository, const KeptRef& kept) {
  ++report_.kept_total;
  if (report_.kept.size() >= limits::file_retention_rows_max) return;
  const std::string where =
      repository.remote.empty() ? repository.path : repository.remote + " of " + repository.path;
  report_.kept.push_back({kept.ref.run_id, kept.ref.name + " in " + where, kept.reason});
}

void ExpiredRunFiles::note_removed(const RunRepository& repository, const RunRef& ref,
                                   StoredRefs& refs) {
  if (round_.is_dry) count_stored(refs, ref, !repository.remote.empty());
  if (repository.remote.empty() && ref.is_branch()) {  // remove_branch() may have named it as kept
    const std::string text = kept_branch_text(repository.path, ref.branch());
    report_.kept_total -=
        std::erase_if(report_.kept, [&text](const KeptFiles& each) { return each.what == text; });
  }
  ++report_.refs_removed;
  if (report_.removed_refs.size() >= limits::file_retention_rows_max) return;
  report_.removed_refs.push_back({repository.path, repository.remote, ref.name, ref.object});
}

}  // namespace signalbox
