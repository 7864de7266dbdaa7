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
constexpr std::int64_t remember_ns = ns_per_s;
constexpr std::int64_t stop_patience_ns = ns_per_s;
// Of records that concern no file: to read them again after a crash costs little.
constexpr Position remember_positions = 200'000;

std::int64_t steady_ns() {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

bool ends_run(const Event& event) {
  return event_as<RunSucceeded>(event) != nullptr || event_as<RunFailed>(event) != nullptr ||
         event_as<RunCanceled>(event) != nullptr;
}

// The run whose manifest has to tell of this timeout, whatever kind of run it is; or nil.
RunId timed_out_run(const Record& record) {
  if (event_as<WatchdogTimedOut>(record.event) != nullptr) return record.stream.run_id;
  const auto* tick = event_as<TickTimedOut>(record.event);
  return tick == nullptr ? RunId{} : tick->run_id;
}

// Of a RunStarted or a RunRetried.
template <class Opened>
bool wants_files(const World& world, const Opened& event) {
  const auto place = world.pipelines.find(event.pipeline_digest);
  if (place == world.pipelines.end()) return !event.run_root.empty();
  return RunFiles::wanted(event.run_root, *place->second.definition);
}

}  // namespace

RunRootWriter::RunRootWriter(const EventLog& log, Projector& projector, std::filesystem::path data,
                             RunRootApplier::Note note)
    : log_(log),
      progress_file_(data / "projections" / "run_roots.json"),
      note_(std::move(note)),
      run_files_(log, projector, data / "runs"),
      projection_({}, data / "runs"),
      applier_(note_, temporary_tag(data / "runs"), [this](const FileChange& removal) {
        const fs::path path = fs::path(removal.root) / removal.path;
        const bool is_marker = removal.path == run_root_path::tick_marker;
        return may_remove(
            log_, removal,
            look_at_file(path, is_marker ? limits::marker_bytes_max : lock_file_bytes_max));
      }) {}

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

void RunRootWriter::wish(Wishes& wishes, const RunId& run_id, Wish how_much) {
  const auto [place, is_new] = wishes.try_emplace(run_id, how_much);
  if (!is_new) place->second = std::max(place->second, how_much);
}

void RunRootWriter::start(const World& world) {
  RunRootProgress progress;
  if (auto loaded = load_progress(progress_file_, world.position);
      loaded && loaded->position >= log_.horizon().position) {
    progress = std::move(*loaded);
  } else {
    progress.position = world.position;
    progress.state = run_root_state_of(world, run_files_.runs());
  }
  for (const RunId& run_id : progress.runs) wish(runs_, run_id, Wish::if_it_has_any);
  for (const auto& [id, run] : world.runs) {
    const bool begun = run->current > 0 || run->station().attempts > 0;
    if (!begun && !RunFiles::wanted(run->run_root, *run->pipeline)) continue;
    if (!RunFiles::wanted(run->run_root, *run->pipeline)) {
      // One that timed out has files, whatever kind it is.
      const std::filesystem::path root = run_root_of(run->run_root, id, run_files_.runs());
      std::error_code error;
      if (!std::filesystem::exists(root / run_root_path::manifest, error)) continue;
    }
    with_files_.insert(id);
    if (begun) wish(runs_, id, Wish::yes);
  }
  projection_ = RunRootProjection(std::move(progress.state), run_files_.runs());
  taken_ = remembered_ = progress.position;
  catching_up_ = true;
  seen_ = world.position;
  from_log_ = true;
  thread_ = std::thread([this] { run(); });
}

bool RunRootWriter::concerns(const World& world, const Record& record) const {
  if (!RunRootProjection::concerns(record)) return false;
  const auto* refreshed = event_as<LockRefreshed>(record.event);
  if (refreshed == nullptr) return true;
  // The event doesn't tell whether the lock is mirrored. One that is gone by now may have been.
  const Lock* lock = world.find_lock(refreshed->key);
  return lock == nullptr || lock->token != refreshed->token || !lock->run_root.empty();
}

void RunRootWriter::apply(const World& world, std::span<const Commit> batch) {
  if (batch.empty()) return;
  std::vector<Record> records;
  Wishes runs;
  for (const Commit& commit : batch) {
    for (const Record& record : commit) {
      const RunId& id = record.stream.run_id;
      if (concerns(world, record)) {
        records.push_back(record);
        const RunId timed_out = timed_out_run(record);
        if (world.find_run(timed_out) != nullptr) with_files_.insert(timed_out);
        if (!timed_out.is_nil()) wish(runs, timed_out, Wish::now);
      } else if (const auto* started = event_as<RunStarted>(record.event)) {
        if (wants_files(world, *started)) with_files_.insert(id);
      } else if (const auto* retried = event_as<RunRetried>(record.event)) {
        if (wants_files(world, *retried)) with_files_.insert(id);
        wish(runs, id, Wish::if_it_has_any);
      } else if (!with_files_.empty() && is_manifest_moment(record.event)) {
        if (with_files_.contains(id)) wish(runs, id, Wish::yes);
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
    } else if (!from_log_) {
      std::move(records.begin(), records.end(), std::back_inserter(records_));
    }
    for (const auto& [run_id, how_much] : runs) {
      if (new_runs_.size() < runs_behind_max) wish(new_runs_, run_id, how_much);
    }
    if (!has_work() && !busy_) written_ = seen_;
    far_ = seen_ - remembered_ > remember_positions;
    wake = has_work() || far_;
  }
  if (wake) changed_.notify_one();
}

void RunRootWriter::when_written(Position position, Written action) {
  {
    const std::lock_guard lock(mutex_);
    if (position > written_) {
      waiting_.push_back({position, std::move(action), {}});
      return;
    }
  }
  action(applier_.errors_at(position));
}

void RunRootWriter::when_writing(Position position, Task task) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back({position, {}, std::move(task)});
  }
  changed_.notify_one();
}

Position RunRootWriter::written() const {
  const std::lock_guard lock(mutex_);
  return written_;
}

RunRootWriter::Work RunRootWriter::take_work() {
  far_ = false;
  Work work;
  work.from_log = std::exchange(from_log_, false);
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
      if (changed_since_ || applier_.has_failures() || !unread_.empty()) {
        changed_.wait_for(lock, std::chrono::seconds(1), something);
      } else {
        changed_.wait(lock, something);
      }
      // What a long way behind leaves to do is remembered, and done by the next life.
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
      // What came meanwhile and concerns no file is written as well.
      written_ = has_work() ? through : seen_;
      taken_ = written_;
    }
    answer();
    // One at a time, so that locks and ticks don't wait for long.
    if (!runs_.empty()) {
      const auto [run_id, how_much] = *runs_.begin();
      runs_.erase(runs_.begin());
      write_run(run_id, how_much, taken_);
    }
    const bool has_failures = applier_.has_failures() || !unread_.empty();
    if (has_failures && steady_ns() >= try_again_at_ns_) {
      applier_.try_again();
      for (const auto& [run_id, how_much] : std::exchange(unread_, {})) {
        wish(runs_, run_id, how_much);
      }
      try_again_at_ns_ = steady_ns() + try_again_ns;
    }
    remember(/*now=*/false);
  }
  if (!runs_.empty()) changed_since_ = true;
  remember(/*now=*/true);
}

void RunRootWriter::carry_out(Work work) {
  RunRootBacklog backlog;
  if (work.from_log) {
    read_log(work.through);
  } else {
    for (const Record& record : work.records) {
      for (FileChange& change : projection_.apply(record)) backlog.add(std::move(change));
    }
  }
  if (std::exchange(catching_up_, false)) {
    for (FileChange& change : projection_.present(work.through)) backlog.add(std::move(change));
  }
  if (!backlog.empty()) changed_since_ = true;
  applier_.apply(backlog);
  for (const auto& [run_id, how_much] : work.runs) {
    if (how_much == Wish::now) {
      urgent_.insert(run_id);
    } else {
      wish(runs_, run_id, how_much);
    }
  }
  for (const RunId& run_id : std::exchange(urgent_, {})) {
    runs_.erase(run_id);
    write_run(run_id, Wish::now, work.through);
  }
}

void RunRootWriter::read_log(Position through) {
  RunRootBacklog backlog;
  const auto scanned = log_.scan(taken_ + 1, through, [&](Record&& record) {
    if (RunRootProjection::concerns(record)) {
      for (FileChange& change : projection_.apply(record)) backlog.add(std::move(change));
      if (backlog.size() > backlog_files_max || backlog.bytes() > backlog_bytes_max) {
        applier_.apply(backlog);
      }
      const RunId timed_out = timed_out_run(record);
      if (!timed_out.is_nil()) urgent_.insert(timed_out);
    } else if (ends_run(record.event) && runs_.size() < runs_behind_max) {
      wish(runs_, record.stream.run_id, Wish::if_it_has_any);
    }
    return true;
  });
  if (!scanned) note_(false, "files in run roots stay behind: " + scanned.error().message);
  changed_since_ = true;
  applier_.apply(backlog);
}

void RunRootWriter::write_run(const RunId& run_id, Wish how_much, Position through) {
  auto rendered = run_files_.render(run_id, through, how_much == Wish::if_it_has_any);
  if (!rendered) {
    note_(false, "the files of run " + to_string(run_id) + ": " + rendered.error().message);
    if (unread_.size() < runs_behind_max) wish(unread_, run_id, how_much);
    return;
  }
  if (!*rendered) return;
  changed_since_ = true;
  for (FileChange& change : (*rendered)->changes) {  // the manifest last: it names the others
    RunRootBacklog backlog;
    backlog.add(std::move(change));
    applier_.apply(backlog);
  }
}

void RunRootWriter::answer() {
  std::deque<Waiting> ready;
  {
    const std::lock_guard lock(mutex_);
    std::deque<Waiting> later;
    for (Waiting& each : waiting_) {
      (each.position <= written_ ? ready : later).push_back(std::move(each));
    }
    waiting_ = std::move(later);
  }
  for (const Waiting& each : ready) {
    if (each.task) {
      each.task(taken_);
    } else {
      each.written(applier_.errors_at(each.position));
    }
  }
}

void RunRootWriter::remember(bool now) {
  RunRootProgress progress{taken_, {}, {}};
  {
    const std::lock_guard lock(mutex_);
    const bool far = taken_ - remembered_ > remember_positions;
    if (!changed_since_ && !far && !(now && taken_ != remembered_)) return;
    if (!now && steady_ns() - remembered_at_ns_ < remember_ns) return;
    for (const auto& [run_id, how_much] : new_runs_) progress.runs.push_back(run_id);
    remembered_ = taken_;
  }
  for (const auto& [run_id, how_much] : runs_) progress.runs.push_back(run_id);
  for (const auto& [run_id, how_much] : unread_) progress.runs.push_back(run_id);
  progress.state = projection_.state();
  const auto saved = save_progress(progress_file_, progress);
  if (!saved && !forgetful_) {
    note_(false, "how far the files in run roots are: " + saved.error().message);
  } else if (saved && forgetful_) {
    note_(true, "how far the files in run roots are is remembered again");
  }
  forgetful_ = !saved;
  changed_since_ = forgetful_;  // then it is tried again
  remembered_at_ns_ = steady_ns();
}

}  // namespace signalbox
