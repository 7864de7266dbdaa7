// Keeps the files in run roots up to date with the log, on a thread of its own, the only one that
// writes them.
//
// The engine thread hands it the durable records that concern a file, so files are written within
// milliseconds; records beyond its queue it reads from the log. It saves its progress in a small
// file and continues from there after a crash. A run root that can't be written stops nothing else.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

#include "domain/world.h"
#include "server/followers/projector.h"
#include "server/followers/run_root/run_files.h"
#include "server/followers/run_root/run_root_applier.h"
#include "server/followers/run_root/run_root_projection.h"
#include "server/limits.h"
#include "server/platform/lane_pool.h"
#include "store/event_log.h"

namespace signalbox {

// Runs the work on the calling thread.
Stored<void> write_directly(const std::string& root, const std::function<Stored<void>()>& work);
// Returns a function that runs work in its root's lane, and waits for it for at most `wait_ms_max`:
// a root that hangs costs that time once, and fails at once from then on until it answers. `lanes`
// outlives the function.
RunRootApplier::InLane run_root_lane(LanePool& lanes,
                                     std::int64_t wait_ms_max = limits::run_root_write_ms_max);

class RunRootWriter {
 public:
  static constexpr std::size_t queued_records_max = 16 * 1024;
  static constexpr std::size_t runs_behind_max = 64 * 1024;

  // `note` is called on the writer's thread, once when a file can't be written and once when it can
  // be again. `data` is the data directory. `log` and `projector` outlive the writer.
  // Files are written by `in_lane`; without it on the writer's own thread. `rule` has the
  // directories that are configured for run roots; nullptr: there are none.
  RunRootWriter(const EventLog& log, Projector& projector, std::filesystem::path data,
                RunRootApplier::Note note, RunRootApplier::InLane in_lane = write_directly,
                std::shared_ptr<const RunRootRule> rule = nullptr);
  ~RunRootWriter();

  // Starts the thread, which continues from the saved progress. `world` is the fold of the whole
  // log.
  void start(const World& world);
  // Writes what is left and ends the thread. Blocks until then. Files of runs that would take
  // longer than a second stay behind until the next start. Waiting actions and tasks aren't called.
  void stop();

  // Gives up what isn't written by `until_ms` (CallBounds::now_ms()), because a root that hangs may
  // hold up each of its files. Waiting actions get an error then, the progress isn't saved any
  // more, and the next start writes the rest, as after a crash. Any thread.
  void finish_by(std::int64_t until_ms) { applier_.finish_by(until_ms); }

  // Accepts durable commits, in order. `world` is at their position or later. Never blocks on a
  // file. Called on the engine thread.
  void apply(const World& world, std::span<const Commit> batch);

  // Calls `action` once the files of locks, ticks and timeouts are written up to `position`. Its
  // argument is the error of the files that change at `position`, or "". The call comes on the
  // caller's thread if they are written already, else on the writer's. While the log can't be read,
  // the error says so and the call doesn't wait: the files follow later. Any thread.
  using Written = std::function<void(const std::string& error)>;
  void when_written(Position position, Written action);

  // Calls `task` on the writer's thread once everything up to `position` is written: nothing else
  // is written meanwhile. Its argument is the position that is written by then. Any thread.
  using Task = std::function<void(Position written)>;
  void when_writing(Position position, Task task);

  // Takes the texts of locks and ticks in `present`, the state up to `position` with texts
  // redacted, and saves the progress, which has them, too. Calls `renewed` on the writer's thread
  // with whether it could be saved, or not at all if the writer is stopped before. Files in run
  // roots stay as they are. Any thread.
  void renew_texts(RunRootState present, Position position,
                   std::function<void(bool saved)> renewed);

  // Runs `work`, which changes files in `root`, as the writer runs its own writes. For tasks.
  Stored<void> write_in_lane(const std::string& root, std::function<Stored<void>()> work) const {
    const CallBounds bounds(applier_.finish_by_ms());
    return in_lane_(root, std::move(work));
  }

  // Removes the saved progress, which may have texts that were redacted: the next start begins
  // where the log ends then. Only before start(), on the same thread.
  [[nodiscard]] Stored<void> forget_progress() const;

  // Returns the position up to which files are written. Any thread.
  [[nodiscard]] Position written() const;
  // Returns why files can't be written at present, at most `limit` messages. Any thread.
  [[nodiscard]] std::vector<std::string> failures(std::size_t limit) const {
    std::vector<std::string> all = applier_.failures(limit);
    const std::lock_guard lock(mutex_);
    if (!unreadable_.empty()) all.insert(all.begin(), unreadable_);
    if (all.size() > limit) all.resize(limit);
    return all;
  }
  // Returns how many files can't be written at present; a log that can't be read counts as one. Any
  // thread.
  [[nodiscard]] std::size_t failure_count() const {
    const std::size_t files = applier_.failure_count();
    const std::lock_guard lock(mutex_);
    return files + (unreadable_.empty() ? 0 : 1);
  }
  [[nodiscard]] const RunRootRule* rule() const { return rule_.get(); }
  [[nodiscard]] const RunFiles& run_files() const { return run_files_; }

 private:
  struct Waiting {
    Position position;
    Written written;  // set if `task` isn't
    Task task;
  };
  // When a run's files are written.
  enum class WritePriority : std::uint8_t {
    if_wanted,  // only if the run has files, see RunFiles::wanted
    normal,
    now,  // before waiting actions are called
  };
  using PendingWrites = std::map<RunId, WritePriority>;
  struct Work {
    std::vector<Record> records;
    PendingWrites runs;
    bool from_log = false;  // `records` is empty: they are to be read from the log
    Position through = 0;
  };

  static void request_write(PendingWrites& pending, const RunId& run_id, WritePriority priority);
  bool concerns(const World& world, const Record& record) const;
  void run();
  bool has_work() const { return from_log_ || !records_.empty() || !new_runs_.empty(); }
  Work take_work();
  void carry_out(Work work);
  // Returns false, and sets unreadable_, if the log could be read only up to applied_.
  bool read_log(Position through);
  void write_run(const RunId& run_id, WritePriority priority, Position through);
  void call_waiting();
  // Saves the progress if it changed and the latest save is a second ago, or with `now`.
  void save_progress_if_due(bool now);

  const EventLog& log_;
  const std::filesystem::path progress_file_;
  const RunRootApplier::Note note_;
  const RunRootApplier::InLane in_lane_;
  const std::shared_ptr<const RunRootRule> rule_;
  const RunFiles run_files_;
  std::unordered_set<RunId, UuidHash> with_files_;  // open runs; the engine's thread only

  // The writer's thread only, once it runs.
  RunRootProjection projection_;
  RunRootApplier applier_;
  PendingWrites runs_;      // runs whose files are behind
  PendingWrites unread_;    // likewise; reading their history failed
  std::set<RunId> urgent_;  // likewise; a caller waits for them
  Position applied_ = 0;    // by projection_
  bool catching_up_ = false;
  bool changed_since_ = false;    // since the latest save
  bool save_failed_ = false;      // the latest save did
  std::int64_t saved_at_ns_ = 0;  // steady clock, as the others
  std::int64_t try_again_at_ns_ = 0;
  std::int64_t read_again_at_ns_ = 0;

  // Guards what follows.
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Record> records_;  // to be applied
  PendingWrites new_runs_;
  Position seen_ = 0;           // up to which apply() was called
  bool from_log_ = false;       // records_ is incomplete: read the log up to seen_
  std::string unreadable_;      // why the latest read of the log failed; "" if it did not
  bool skips_records_ = false;  // records_ stays empty until the next read of the log
  bool busy_ = false;
  bool far_ = false;  // the saved progress is far behind seen_
  Position written_ = 0;
  Position saved_ = 0;
  std::deque<Waiting> waiting_;
  bool stopping_ = false;
  std::int64_t stopped_at_ns_ = 0;
  std::thread thread_;
};

}  // namespace signalbox
