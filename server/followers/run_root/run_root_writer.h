// Keeps the files in run roots up with the log, on a thread of its own: the only one that writes
// them.
//
// It is given the durable records that concern a file, so that the files are there within
// milliseconds; what it can't hold it reads from the log. It remembers in a small file how far it
// is, and goes on from there after a crash. A run root that can't be written stops nobody.
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
#include "store/event_log.h"

namespace signalbox {

class RunRootWriter {
 public:
  static constexpr std::size_t queued_records_max = 16 * 1024;
  static constexpr std::size_t runs_behind_max = 64 * 1024;

  // `note` is called on the writer's thread when a file can't be written, and when it can again:
  // once each time. `data` is the data directory.
  RunRootWriter(const EventLog& log, Projector& projector, std::filesystem::path data,
                RunRootApplier::Note note);
  ~RunRootWriter();

  // `world` is the fold of the whole log. Takes up what an earlier life left.
  void start(const World& world);
  // Writes what is left and ends the thread; who still waits isn't called any more.
  void stop();

  // Durable commits, in order. `world` is at their position or later. The engine's thread.
  void apply(const World& world, std::span<const Commit> batch);

  // Calls `action` once the files of locks, ticks and timeouts that follow from everything up to
  // `position` are written, with what went wrong with those that change at it, or "". On the
  // caller's thread if they are; else on the writer's. Any thread.
  using Written = std::function<void(const std::string& error)>;
  void when_written(Position position, Written action);

  // Calls `task` on the writer's thread, so that nobody else writes meanwhile, once everything up
  // to `position` is written; it is told how far that is by then.
  using Task = std::function<void(Position written)>;
  void when_writing(Position position, Task task);

  [[nodiscard]] Position written() const;
  // Why files can't be written, at present; the first `limit`.
  [[nodiscard]] std::vector<std::string> failures(std::size_t limit) const {
    return applier_.failures(limit);
  }
  [[nodiscard]] const RunFiles& run_files() const { return run_files_; }

 private:
  struct Waiting {
    Position position;
    Written written;  // or
    Task task;
  };
  // How much a run wants its files to be written.
  enum class Wish : std::uint8_t {
    if_it_has_any,  // see RunFiles::wanted
    yes,
    now,  // before those who wait are answered
  };
  using Wishes = std::map<RunId, Wish>;
  struct Work {
    std::vector<Record> records;
    Wishes runs;
    bool from_log = false;
    Position through = 0;
  };

  static void wish(Wishes& wishes, const RunId& run_id, Wish how_much);
  bool concerns(const World& world, const Record& record) const;
  void run();
  bool has_work() const { return from_log_ || !records_.empty() || !new_runs_.empty(); }
  Work take_work();
  void carry_out(Work work);
  void read_log(Position through);
  void write_run(const RunId& run_id, Wish how_much, Position through);
  void answer();
  void remember(bool now);

  const EventLog& log_;
  const std::filesystem::path progress_file_;
  const RunRootApplier::Note note_;
  const RunFiles run_files_;
  std::unordered_set<RunId, UuidHash> with_files_;  // open runs; the engine's thread only

  // The writer's thread only, once it runs.
  RunRootProjection projection_;
  RunRootApplier applier_;
  Wishes runs_;             // whose files are behind
  Wishes unread_;           // likewise, as long as the read models can't tell of them
  std::set<RunId> urgent_;  // and those that somebody waits for
  Position taken_ = 0;      // by the projection
  bool catching_up_ = false;
  bool changed_since_ = false;  // since it was remembered
  bool forgetful_ = false;      // it couldn't be remembered
  std::int64_t remembered_at_ns_ = 0;
  std::int64_t try_again_at_ns_ = 0;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Record> records_;  // to be taken
  Wishes new_runs_;
  Position seen_ = 0;      // through which records_ has what concerns a file
  bool from_log_ = false;  // records_ hasn't
  bool busy_ = false;
  bool far_ = false;  // what is remembered is far behind
  Position written_ = 0;
  Position remembered_ = 0;
  std::deque<Waiting> waiting_;
  bool stopping_ = false;
  std::int64_t stopped_at_ns_ = 0;
  std::thread thread_;
};

}  // namespace signalbox
