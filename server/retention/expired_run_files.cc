#include "server/retention/expired_run_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "domain/nanoseconds.h"
#include "domain/try.h"
#include "projections/run_history.h"
#include "server/executors/job_directory.h"
#include "server/followers/run_root/run_root_removal.h"
#include "server/git/path_facts.h"
#include "server/git/pinned_repository.h"
#include "server/limits.h"
#include "server/platform/call_bounds.h"
#include "server/retention/directory_names.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t rows_per_page = 256;
constexpr std::size_t uuid_length = 36;

// Returns the time of the newest change of a directory's entries (UTC, ns); 0 if it isn't there.
std::int64_t directory_changed_ns(const fs::path& directory) {
  struct stat status {};
  if (::lstat(directory.c_str(), &status) != 0) return 0;
  return status.st_mtim.tv_sec * ns_per_s + status.st_mtim.tv_nsec;
}

}  // namespace

ExpiredRunFiles::ExpiredRunFiles(Parts parts)
    : parts_(std::move(parts)),
      markers_(parts_.data),
      next_repository_(repositories_.cend()),
      run_repositories_(parts_.data),
      next_on_disk_(on_disk_.cend()) {}

Stored<void> ExpiredRunFiles::begin(const FileRound& round) {
  round_ = round;
  report_ = {};
  report_.is_dry = round.is_dry;
  kept_.clear();
  page_ = {};
  next_row_ = 0;
  rows_done_ = false;
  first_unsettled_ = 0;
  newest_ = 0;
  artifact_parts_left_ = artifact_parts;
  artifacts_until_ms_ = 0;
  first_artifacts_ = next_artifacts_;
  if (!parts_.projector.follow_to(round.position)) {
    return store_failure(StoreError::Kind::io, "the read models are behind the log");
  }
  at_remotes_.clear();
  are_remotes_known_ = true;
  TRY(run_repositories_.load());
  are_repositories_listed_ = false;
  list_directories();
  next_on_disk_ = on_disk_.cbegin();
  if (!round.is_dry && paused_) resume();
  return {};
}

void ExpiredRunFiles::pause(const ExpiredRun& run) {
  report_.is_partial = true;
  if (round_.is_dry) return;
  paused_ = Paused{run.run_id, run.started_at + 1, rows_done_,      first_unsettled_,
                   newest_,    round_.now_ns,      std::move(kept_)};
}

// Goes on as if the round had not been paused. Runs that were too young then, or didn't exist, are
// left to later rounds, also as far as their artifacts are concerned.
void ExpiredRunFiles::resume() {
  round_.now_ns = paused_->now_ns;
  first_unsettled_ = paused_->first_unsettled;
  newest_ = paused_->newest;
  kept_ = std::move(paused_->kept);
  rows_done_ = paused_->rows_done;
  if (rows_done_) {
    next_on_disk_ = on_disk_.lower_bound(paused_->run_id);
  } else {
    page_.next_cursor = paused_->cursor;
  }
  paused_.reset();
}

void ExpiredRunFiles::list_directories() {
  on_disk_.clear();
  const auto list = [this](const char* folder, auto note) {
    for (const std::string& name : names_in(parts_.data / folder)) {
      const auto run_id = parse_uuid(std::string_view(name).substr(0, uuid_length));
      if (run_id) note(on_disk_[*run_id], base_name_of(name));
    }
  };
  list("runs", [](OnDisk& found, const std::string&) { found.has_root = true; });
  list(pins_directory_name, [](OnDisk& found, const std::string&) { found.has_pins = true; });
  list("jobs", [](OnDisk& found, const std::string& name) { found.jobs.insert(name); });
  for (const RunId& run_id : partly_kept_) on_disk_.try_emplace(run_id);
}

bool ExpiredRunFiles::is_expired(const RunRow& row) const {
  if (!is_terminal(row.status) || row.ended_at_ns == 0) return false;
  const std::int64_t age_ms = (round_.now_ns - row.ended_at_ns) / ns_per_ms;
  return age_ms >= (row.status == RunStatus::failed ? round_.failed_runs_ms : round_.older_than_ms);
}

Stored<std::optional<ExpiredRun>> ExpiredRunFiles::next() {
  auto found = TRY(next_row());
  if (found || parts_.stopped) return found;
  return next_on_disk();
}

Stored<std::optional<ExpiredRun>> ExpiredRunFiles::next_row() {
  while (!rows_done_ && !parts_.stopped) {
    if (next_row_ == page_.rows.size()) {
      const bool is_first = newest_ == 0;
      if (!is_first && page_.next_cursor == 0) {
        rows_done_ = true;
        break;
      }
      page_ = TRY(index().list({}, rows_per_page, page_.next_cursor));
      next_row_ = 0;
      if (is_first && !page_.rows.empty()) newest_ = page_.rows.front().started_position;
      if (page_.rows.empty() && page_.next_cursor == 0) rows_done_ = true;
      continue;
    }
    const RunRow& row = page_.rows[next_row_++];
    if (row.started_position <= settled_through_) {
      rows_done_ = true;
      break;
    }
    if (!is_expired(row)) {
      first_unsettled_ = row.started_position;
      continue;
    }
    auto found = TRY(expired(row));
    if (found) return found;
  }
  return std::nullopt;
}

// Runs that next_row() doesn't get to: those that started before settled_through_, and those that
// the log doesn't have any more.
Stored<std::optional<ExpiredRun>> ExpiredRunFiles::next_on_disk() {
  while (next_on_disk_ != on_disk_.cend() && !parts_.stopped) {
    const auto& [run_id, found] = *next_on_disk_++;
    const auto row = TRY(index().find(run_id));
    if (!row) {
      const bool is_on_disk = found.has_root || found.has_pins || !found.jobs.empty();
      if (!is_on_disk) partly_kept_.erase(run_id);
      if (!is_on_disk) continue;
      if (auto unknown = expired_unknown(run_id, found)) return unknown;
      continue;
    }
    if (row->started_position > settled_through_ || !is_expired(*row)) continue;
    auto run = TRY(expired(*row));
    if (run) return run;
  }
  return std::nullopt;
}

// Returns where the run's files are; nullopt if it has none. A failed run is marked in any case:
// its artifacts go, so a retry is refused from then on.
Stored<std::optional<ExpiredRun>> ExpiredRunFiles::expired(const RunRow& row) {
  const bool is_on_disk = on_disk_.contains(row.run_id);
  if (!is_on_disk && markers_.is_complete(row.run_id)) return std::nullopt;
  ExpiredRun run;
  run.run_id = row.run_id;
  run.root = (runs() / to_string(row.run_id)).string();
  run.started_at = row.started_position;
  run.last_position = row.last_position;
  run.is_failed = row.status == RunStatus::failed;
  const std::vector<Position> first{row.started_position};
  const auto records = read_records(parts_.log, first);
  if (!records && records.error().kind == StoreError::Kind::dropped) return std::nullopt;
  if (!records) return tl::unexpected(records.error());
  const auto* started = event_as<RunStarted>(records->front().event);
  if (started == nullptr) return std::nullopt;
  const std::string named = started->run_root;
  run.repository = started->repository;
  run_repositories_.add(run.repository);
  // A client may name <data>/runs/<id of the run> only before it knows the id, so this is another.
  run.is_named = !named.empty();
  if (run.is_named) run.root = named;
  const bool has_files = is_on_disk || run.is_named || !run.repository.empty();
  if (!has_files && !run.is_failed) return std::nullopt;
  return run;
}

// Returns a run that the log doesn't have, if records were dropped from the log and the directories
// are what the service makes.
std::optional<ExpiredRun> ExpiredRunFiles::expired_unknown(const RunId& run_id,
                                                           const OnDisk& found) {
  if (parts_.log.horizon().position == 0) return std::nullopt;
  ExpiredRun run;
  run.run_id = run_id;
  run.root = (runs() / to_string(run_id)).string();
  const std::int64_t age_ms = std::max(round_.older_than_ms, round_.failed_runs_ms);
  const auto is_young = [&](const fs::path& directory) {
    return (round_.now_ns - directory_changed_ns(directory)) / ns_per_ms < age_ms;
  };
  if (is_young(run.root)) return std::nullopt;
  for (const std::string& job : found.jobs) {
    const fs::path directory = parts_.data / "jobs" / job;
    if (!is_there(directory)) continue;  // its removal has begun
    if (is_young(directory) || !is_there(JobDirectory{directory}.spec())) return std::nullopt;
  }
  const auto pinned =
      PinnedRepository::open_recorded(parts_.data / pins_directory_name / to_string(run_id));
  if (pinned) {
    run.repository = pinned->facts().repository;
    run_repositories_.add(run.repository);
  }
  run.knows_repository = pinned || had_no_repository(run_id, run.root) ||
                         had_no_repository(run_id, run.root + removing_suffix);
  return run;
}

void ExpiredRunFiles::keep(const ExpiredRun& run, const std::string& reason) {
  keep(run, run.root, reason);
}

void ExpiredRunFiles::keep(const ExpiredRun& run, const std::string& what,
                           const std::string& reason) {
  kept_.insert(run.run_id);
  if (run.started_at > settled_through_) first_unsettled_ = run.started_at;
  name_kept(run, what, reason);
}

void ExpiredRunFiles::keep_part(const ExpiredRun& run, const std::string& what,
                                const std::string& reason, Freed& freed) {
  freed.is_complete = false;
  name_kept(run, what, reason);
  if (round_.is_dry || run.started_at == 0) return;
  if (partly_kept_.size() < limits::partly_kept_runs_max) partly_kept_.insert(run.run_id);
  const bool is_remembered = partly_kept_.contains(run.run_id);
  if (!is_remembered && run.started_at > settled_through_) first_unsettled_ = run.started_at;
}

void ExpiredRunFiles::name_kept(const ExpiredRun& run, const std::string& what,
                                const std::string& reason) {
  ++report_.kept_total;
  if (report_.kept.size() < limits::file_retention_rows_max) {
    report_.kept.push_back({run.run_id, what, reason});
  }
}

bool ExpiredRunFiles::remove(const ExpiredRun& run) {
  const CallBounds bounds(CallBounds::now_ms() + limits::worktree_removal_ms_max, &parts_.stopped);
  const auto found = on_disk_.find(run.run_id);
  const OnDisk on_disk = found == on_disk_.end() ? OnDisk() : found->second;
  const auto left = [&](const std::string& what, const std::string& reason) {
    keep(run, what, reason);
    return markers_.has(run.run_id);
  };
  for (const std::string& job : on_disk.jobs) {
    const auto lives = JobDirectory{parts_.data / "jobs" / job}.is_under_way(to_string(run.run_id));
    if (!lives) return left("job " + job, lives.error().message);
    if (*lives) return left("job " + job, "its processes live");
  }
  if (run.is_named && parts_.files_written() < run.last_position) {
    return left(run.root, "the files of its run root aren't written yet");
  }
  if (const auto answers = check_named_root(run); !answers) {
    return left(run.root, answers.error().message);
  }
  auto cleared = clear_worktrees_of(run, /*only_look=*/true);
  if (!cleared) return left(run.root, cleared.error().message);
  if (run.is_failed && !cleared->kept.empty() && !markers_.has(run.run_id)) {
    kept_.insert(run.run_id);  // a retry goes on with that work, and needs the rest, too
    Freed nothing;
    keep_part(run, cleared->kept, cleared->reason, nothing);
    return false;
  }
  if (!round_.is_dry) {
    if (auto marked = markers_.begin(run.run_id, round_.now_ns); !marked) {
      return left(run.root, marked.error().message);
    }
    if (cleared->kept.empty()) cleared = clear_worktrees_of(run, /*only_look=*/false);
    if (!cleared) return left(run.root, cleared.error().message);
  }
  if (cleared->ignored_total > 0 && report_.ignored.size() < limits::file_retention_rows_max) {
    report_.ignored.push_back({run.run_id, cleared->ignored_total, cleared->ignored_first});
  }
  Freed freed{cleared->bytes};
  if (cleared->kept.empty()) {
    remove_root(run, freed);
  } else {
    keep_part(run, cleared->kept, cleared->reason, freed);
  }
  // A worktree is looked at with its pins, and has the branch checked out.
  if (freed.is_complete) {
    remove_tree(run, pins_directory_name, to_string(run.run_id), freed);
    remove_branch(run, *cleared, freed);
  }
  for (const std::string& job : on_disk.jobs) remove_tree(run, "jobs", job, freed);
  if (!round_.is_dry && freed.is_complete) {
    // From then on nothing else says in which repository the run has worked.
    auto done = run_repositories_.save();
    if (done) done = markers_.complete(run.run_id, round_.now_ns);
    if (!done) return left(run.root, done.error().message);
    partly_kept_.erase(run.run_id);
  }
  if (freed.bytes == 0 && !freed.is_complete) return true;
  ++report_.runs_removed;
  report_.bytes_removed += freed.bytes;
  if (report_.removed.size() < limits::file_retention_rows_max) {
    report_.removed.push_back({run.run_id, run.root, freed.bytes});
  }
  return true;
}

// Fails if the disk of a root that a client named doesn't answer.
Stored<void> ExpiredRunFiles::check_named_root(const ExpiredRun& run) const {
  if (!run.is_named) return {};
  return parts_.look_in_root(run.root, [root = fs::path(run.root)]() -> Stored<void> {
    (void)names_in(root);
    return {};
  });
}

Stored<ClearedWorktrees> ExpiredRunFiles::clear_worktrees_of(const ExpiredRun& run,
                                                             bool only_look) const {
  RunWorktrees request{run, parts_.data, only_look, parts_.rule};
  if (!run.is_named) return clear_worktrees(request, parts_.stopped);
  const auto cleared = std::make_shared<ClearedWorktrees>();
  TRY(parts_.remove_in_root(
      run.root,
      [cleared, request = std::move(request), &stopped = parts_.stopped]() -> Stored<void> {
        *cleared = clear_worktrees(request, stopped);
        return {};
      }));
  return *cleared;
}

void ExpiredRunFiles::remove_root(const ExpiredRun& run, Freed& freed) {
  if (run.is_named) return remove_named_root(run, freed);
  remove_tree(run, "runs", to_string(run.run_id), freed,
              [&run](const fs::path& root) { return reason_to_keep_root(run, root); });
}

void ExpiredRunFiles::remove_tree(const ExpiredRun& run, const char* folder,
                                  const std::string& name, Freed& freed,
                                  const ReasonToKeepTree& reason_to_keep) {
  const fs::path parent = parts_.data / folder;
  if (!is_owned_tree_there(parent, name)) return;
  const auto size = round_.is_dry ? measure_owned_tree(parent, name, parts_.stopped)
                                  : remove_owned_tree(parent, name, parts_.stopped, reason_to_keep);
  if (size) {
    freed.bytes += size->bytes;
  } else {
    keep_part(run, (parent / name).string(), size.error().message, freed);
  }
}

void ExpiredRunFiles::remove_named_root(const ExpiredRun& run, Freed& freed) {
  auto rendered = parts_.run_files.render(run.run_id, round_.position, /*only_if_wanted=*/true);
  if (!rendered) return keep_part(run, run.root, rendered.error().message, freed);
  if (!*rendered) return;
  const auto removed = std::make_shared<RemovedRunFiles>();
  const auto answered =
      parts_.remove_in_root(run.root,
                            [removed, files = *std::move(*rendered), data = parts_.data,
                             rule = parts_.rule, is_dry = round_.is_dry]() -> Stored<void> {
                              *removed = remove_run_files(files, data, rule.get(), is_dry);
                              return {};
                            });
  if (!answered) return keep_part(run, run.root, answered.error().message, freed);
  freed.bytes += removed->bytes;
  // Files that somebody changed are that one's own from now on.
  for (const std::string& each : removed->changed) {
    name_kept(run, each, "it isn't as the service wrote it");
  }
  if (!removed->error.empty()) keep_part(run, run.root, removed->error, freed);
}

FileRetentionReport ExpiredRunFiles::end() {
  if (round_.is_dry) next_artifacts_ = first_artifacts_;
  if (rows_done_ && !round_.is_dry && !parts_.stopped) {
    settled_through_ = first_unsettled_ != 0 ? first_unsettled_ - 1 : newest_;
  }
  for (const char* folder : {"runs", "jobs", pins_directory_name, "artifacts"}) {
    // The data directory may be named by a link. A folder that isn't there yet holds nothing.
    const auto size = measure_owned_tree(resolved_path(parts_.data), folder, parts_.stopped);
    if (!size && size.error().kind != StoreError::Kind::not_found) continue;
    report_.stored.push_back({folder, size ? size->bytes : 0, size ? size->entries : 0});
  }
  old_artifacts_.clear();
  page_ = {};
  next_row_ = 0;
  return std::move(report_);
}

}  // namespace signalbox
