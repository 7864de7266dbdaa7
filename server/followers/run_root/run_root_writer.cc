#include "server/followers/run_root/run_root_writer.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "domain/limits.h"
#include "domain/nanoseconds.h"
#include "server/followers/run_root/found_file.h"
#include "server/followers/run_root/lock_file.h"
#include "server/followers/run_root/render_run.h"
#include "server/followers/run_root/run_root_disk.h"
#include "server/followers/run_root/run_root_state.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t backlog_files_max = 1024;
constexpr std::size_t backlog_bytes_max = 8 * 1024 * 1024;
constexpr std::int64_t try_again_ns = 5 * ns_per_s;
constexpr std::int64_t save_interval_ns = ns_per_s;
constexpr std::int64_t stop_patience_ns = ns_per_s;
// Records that concern no file, after which the progress is saved: reading them again after a crash
// costs little.
constexpr Position save_interval_positions = 200'000;

std::int64_t steady_ns() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

// `event` is a RunStarted or a RunRetried.
template <class Opened>
bool wants_files(const World& world, const Opened& event) {
  const auto place = world.pipelines.find(event.pipeline_digest);
  if (place == world.pipelines.end()) return !event.run_root.empty();
  return RunFiles::wanted(event.run_root, *place->second.definition);
}

}  // namespace

RunRootWriter::RunRootWriter(const EventLog& log, Projector& projector, std::filesystem::path data,
                             RunRootApplier::Note note, RunRootApplier::InLane in_lane,
                             std::shared_ptr<const RunRootRule> rule)
    : log_(log),
      progress_file_(data / "projections" / "run_roots.json"),
      note_(std::move(note)),
      in_lane_(std::move(in_lane)),
      rule_(std::move(rule)),
      run_files_(log, projector, data / "runs"),
      projection_({}, data / "runs"),
      applier_(
          note_, data,
          [this](const FileChange& removal) {
            const fs::path path = fs::path(removal.root) / removal.path;
            const bool is_marker = removal.path == run_root_path::tick_marker;
            return may_remove(
                log_, removal,
                read_found_file_below(rule_.get(), path,
                                      is_marker ? limits::marker_bytes_max : lock_file_bytes_max));
          },
          in_lane_, rule_) {}

RunRootWriter::~RunRootWriter() { stop(); }

void RunRootWriter::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    stopped_at_ns_ = steady_ns();
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void RunRootWriter::request_write(PendingWrites& pending, const RunId& run_id,
                                  WritePriority priority) {
  const auto [place, is_new] = pending.try_emplace(run_id, priority);
  if (!is_new) place->second = std::max(place->second, priority);
}

bool RunRootWriter::concerns(const World& world, const Record& record) const {
  if (!RunRootProjection::concerns(record)) return false;
  const auto* refreshed = event_as<LockRefreshed>(record.event);
  if (refreshed == nullptr) return true;
  // The event doesn't say whether the lock is mirrored. A lock that is gone by now may have been.
  const Lock* lock = world.find_lock(refreshed->key);
  return lock == nullptr || lock->token != refreshed->token || !lock->run_root.empty();
}

void RunRootWriter::apply(const World& world, std::span<const Commit> batch) {
  if (batch.empty()) return;
  std::vector<Record> records;
  PendingWrites runs;
  for (const Commit& commit : batch) {
    for (const Record& record : commit) {
      const RunId& id = record.stream.run_id;
      if (concerns(world, record)) {
        records.push_back(record);
        const RunId timed_out = timed_out_run(record);
        if (world.find_run(timed_out) != nullptr) with_files_.insert(timed_out);
        if (!timed_out.is_nil()) request_write(runs, timed_out, WritePriority::now);
      } else if (const auto* started = event_as<RunStarted>(record.event)) {
        if (wants_files(world, *started)) with_files_.insert(id);
      } else if (const auto* retried = event_as<RunRetried>(record.event)) {
        if (wants_files(world, *retried)) with_files_.insert(id);
        request_write(runs, id, WritePriority::if_wanted);
      } else if (!with_files_.empty() && is_manifest_moment(record.event)) {
        if (with_files_.contains(id)) request_write(runs, id, WritePriority::normal);
        if (ends_run(record.event)) with_files_.erase(id);
      }
    }
  }
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    seen_ = batch.back().back().position;
    if (records_.size() + records.size() > queued_records_max) {
      from_log_ = true;
      records_.clear();
    } else if (!from_log_ && !skips_records_) {
      std::move(records.begin(), records.end(), std::back_inserter(records_));
    }
    for (const auto& [run_id, priority] : runs) {
      if (new_runs_.size() < runs_behind_max) request_write(new_runs_, run_id, priority);
    }
    if (!has_work() && !busy_ && !skips_records_) written_ = seen_;
    far_ = seen_ - saved_ > save_interval_positions;
    wake = has_work() || far_;
  }
  if (wake) changed_.notify_one();
}

void RunRootWriter::when_written(Position position, Written action) {
  std::string unreadable;
  {
    const std::lock_guard lock(mutex_);
    if (position > written_) {
      if (unreadable_.empty()) {
        waiting_.push_back({position, std::move(action), {}});
        return;
      }
      unreadable = unreadable_;
    }
  }
  action(unreadable.empty() ? applier_.errors_at(position) : unreadable);
}

void RunRootWriter::when_writing(Position position, Task task) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back({position, {}, std::move(task)});
  }
  changed_.notify_one();
}

void RunRootWriter::renew_texts(RunRootState present, Position position,
                                std::function<void(bool saved)> renewed) {
  when_writing(position, [this, present = std::move(present),
                          renewed = std::move(renewed)](Position /*written*/) {
    projection_.take_texts(present);
    applier_.forget_texts();
    changed_since_ = true;
    save_progress_if_due(/*now=*/true);
    renewed(!changed_since_);
  });
}

Position RunRootWriter::written() const {
  const std::lock_guard lock(mutex_);
  return written_;
}

RunRootWriter::Work RunRootWriter::take_work() {
  far_ = false;
  Work work;
  work.from_log = std::exchange(from_log_, false);
  work.from_log = work.from_log || (skips_records_ && steady_ns() >= read_again_at_ns_);
  if (work.from_log) skips_records_ = false;  // what comes from now on is queued
  work.records = std::exchange(records_, {});
  work.runs = std::exchange(new_runs_, {});
  work.through = seen_;
  return work;
}

void RunRootWriter::run() {
  for (;;) {
    Work work;
    {
      std::unique_lock lock(mutex_);
      const auto something = [this] {
        return stopping_ || has_work() || far_ || !runs_.empty() ||
               std::any_of(waiting_.begin(), waiting_.end(),
                           [this](const Waiting& each) { return each.position <= written_; });
      };
      if (changed_since_ || applier_.has_failures() || !unread_.empty() || !unreadable_.empty()) {
        changed_.wait_for(lock, std::chrono::seconds(1), something);
      } else {
        changed_.wait(lock, something);
      }
      // Runs that are left after stop_patience_ns are saved with the progress, for the next start.
      const bool enough = runs_.empty() || steady_ns() - stopped_at_ns_ > stop_patience_ns;
      if (stopping_ && !has_work() && enough) break;
      work = take_work();
      busy_ = true;
    }
    const Position through = work.through;
    carry_out(std::move(work));
    {
      const std::lock_guard lock(mutex_);
      busy_ = false;
      if (!skips_records_) {
        // Records that came meanwhile and concern no file need no write.
        written_ = has_work() ? through : seen_;
        applied_ = written_;
      } else {
        records_.clear();  // the next read of the log continues behind applied_
        written_ = applied_;
      }
    }
    call_waiting();
    // One run per round, so that locks and ticks don't wait for long.
    if (!runs_.empty()) {
      const auto [run_id, priority] = *runs_.begin();
      runs_.erase(runs_.begin());
      write_run(run_id, priority, applied_);
    }
    const bool has_failures = applier_.has_failures() || !unread_.empty();
    if (has_failures && steady_ns() >= try_again_at_ns_) {
      const std::size_t before = applier_.failure_count();
      applier_.try_again();
      if (applier_.failure_count() != before) changed_since_ = true;
      for (const auto& [run_id, priority] : std::exchange(unread_, {})) {
        request_write(runs_, run_id, priority);
      }
      try_again_at_ns_ = steady_ns() + try_again_ns;
    }
    save_progress_if_due(/*now=*/false);
  }
  if (!runs_.empty()) changed_since_ = true;
  save_progress_if_due(/*now=*/true);
}

void RunRootWriter::carry_out(Work work) {
  RunRootBacklog backlog;
  bool is_complete = false;
  if (work.from_log) {
    is_complete = read_log(work.through);
  } else {
    for (const Record& record : work.records) {
      for (FileChange& change : projection_.apply(record)) backlog.add(std::move(change));
    }
  }
  if (is_complete && std::exchange(catching_up_, false)) {
    for (FileChange& change : projection_.present(work.through)) backlog.add(std::move(change));
  }
  if (!backlog.empty()) changed_since_ = true;
  applier_.apply(backlog);
  for (const auto& [run_id, priority] : work.runs) {
    if (priority == WritePriority::now) {
      urgent_.insert(run_id);
    } else {
      request_write(runs_, run_id, priority);
    }
  }
  for (const RunId& run_id : std::exchange(urgent_, {})) {
    runs_.erase(run_id);
    write_run(run_id, WritePriority::now, work.through);
  }
}

bool RunRootWriter::read_log(Position through) {
  RunRootBacklog backlog;
  const auto visit = [&](Record&& record) {
    applied_ = record.position;
    if (RunRootProjection::concerns(record)) {
      for (FileChange& change : projection_.apply(record)) backlog.add(std::move(change));
      if (backlog.size() > backlog_files_max || backlog.bytes() > backlog_bytes_max) {
        applier_.apply(backlog);
      }
      const RunId timed_out = timed_out_run(record);
      if (!timed_out.is_nil()) urgent_.insert(timed_out);
    } else if (ends_run(record.event) && runs_.size() < runs_behind_max) {
      request_write(runs_, record.stream.run_id, WritePriority::if_wanted);
    }
    return true;
  };
  auto scanned = log_.scan(applied_ + 1, through, visit);
  // What was dropped before it was read is skipped, as a start skips it.
  while (!scanned && scanned.error().kind == StoreError::Kind::dropped) {
    const Position present = log_.horizon().next_present(applied_ + 1);
    if (present == applied_ + 1) break;
    applied_ = present - 1;
    scanned = log_.scan(present, through, visit);
  }
  changed_since_ = true;
  applier_.apply(backlog);
  const std::string why =
      scanned ? std::string() : "files in run roots stay behind: " + scanned.error().message;
  std::string before;
  {
    const std::lock_guard lock(mutex_);
    before = std::exchange(unreadable_, why);
    skips_records_ = !scanned;
  }
  if (!scanned) read_again_at_ns_ = steady_ns() + try_again_ns;
  if (!scanned && before.empty()) note_(false, why);
  if (scanned && !before.empty()) note_(true, "the log can be read again for files in run roots");
  return scanned.has_value();
}

void RunRootWriter::write_run(const RunId& run_id, WritePriority priority, Position through) {
  if (applier_.is_over()) return;
  auto rendered = run_files_.render(run_id, through, priority == WritePriority::if_wanted);
  if (!rendered) {
    note_(false, "the files of run " + to_string(run_id) + ": " + rendered.error().message);
    if (unread_.size() < runs_behind_max) request_write(unread_, run_id, priority);
    return;
  }
  if (!*rendered) return;
  changed_since_ = true;
  for (FileChange& change : (*rendered)->changes) {  // the manifest last: it lists the others
    RunRootBacklog backlog;
    backlog.add(std::move(change));
    applier_.apply(backlog);
  }
}

void RunRootWriter::call_waiting() {
  std::deque<Waiting> ready;
  std::string unreadable;
  {
    const std::lock_guard lock(mutex_);
    unreadable = unreadable_;
    std::deque<Waiting> later;
    for (Waiting& each : waiting_) {
      // A task needs the records; an answer is late already, and says what is missing.
      const bool is_ready = each.position <= written_ || (each.written && !unreadable.empty());
      (is_ready ? ready : later).push_back(std::move(each));
    }
    waiting_ = std::move(later);
  }
  for (const Waiting& each : ready) {
    if (each.task) {
      each.task(applied_);
    } else {
      each.written(each.position <= applied_ ? applier_.errors_at(each.position) : unreadable);
    }
  }
}

void RunRootWriter::save_progress_if_due(bool now) {
  if (applier_.is_over()) return;
  RunRootProgress progress{applied_, {}, {}, {}};
  {
    const std::lock_guard lock(mutex_);
    const bool far = applied_ - saved_ > save_interval_positions;
    if (!changed_since_ && !far && !(now && applied_ != saved_)) return;
    if (!now && steady_ns() - saved_at_ns_ < save_interval_ns) return;
    for (const auto& [run_id, priority] : new_runs_) progress.runs.push_back(run_id);
    saved_ = applied_;
  }
  for (const auto& [run_id, priority] : runs_) progress.runs.push_back(run_id);
  for (const auto& [run_id, priority] : unread_) progress.runs.push_back(run_id);
  progress.state = projection_.state();
  progress.failed = applier_.failed_changes();
  const auto saved = save_progress(progress_file_, progress);
  if (!saved && !save_failed_) {
    note_(false, "how far the files in run roots are: " + saved.error().message);
  } else if (saved && save_failed_) {
    note_(true, "how far the files in run roots are is remembered again");
  }
  save_failed_ = !saved;
  changed_since_ = save_failed_;  // then the next round tries again
  saved_at_ns_ = steady_ns();
}

}  // namespace signalbox
