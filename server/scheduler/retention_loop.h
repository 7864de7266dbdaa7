// The service's own loop `retention`. When it is due it searches the log for records older than the
// policy. If there are any, they are archived and dropped while the service goes on:
//
//   retention lane   plans, exports, verifies the archive, reads what the drop will store
//   commit thread    writes the base of the drop, a part between two batches
//   engine thread    applies HistoryDropped, unless what is to be dropped got records meanwhile;
//                    then the plan is made again, over the same archive
//   commit thread    writes the event, the horizon and the erasure as one batch
//   retention lane   computes the read models from the new base, which the projector then takes
//                    over, and rewrites the files of the log
//
// Nobody waits longer than for one of these writes. The world doesn't change but for the event: the
// base is the state that the dropped records led to, so a restart evolves the same one.
//
// The tick begins before and ends after all of it, so each retention has a tick with its result. A
// crash or a stop in between leaves it undone or done; the next start ends the tick, from the log,
// and finishes the files. Where finishing them fails, the retention has failed, and its next tick
// does nothing but that. All calls come from the engine thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "server/engine/engine.h"
#include "server/platform/blocking_pool.h"
#include "server/platform/clock.h"
#include "server/scheduler/retention_outcome.h"
#include "server/scheduler/rewriting_turn.h"
#include "server/scheduler/scheduled_loop.h"
#include "server/scheduler/service_loops.h"

namespace signalbox {

namespace limits {
// How often a retention is planned anew because records of what it would drop were written.
inline constexpr int retention_plans_max = 3;
}  // namespace limits

// Ends the tick of a retention that was under way when the process before ended, or another server
// of the cell. `dropped_at` is the position of the log's latest HistoryDropped, 0 for none. Called
// at every start, whether a policy is still configured or not.
void conclude_retention(Engine& engine, Position dropped_at);

// Why no retention may begin, as a sentence, and what to do.
struct RetentionObstacle {
  std::string why;
  std::vector<std::string> next_commands;
  bool passes = false;  // by itself: another try before that is refused
};

class RetentionLoop final : public LoopGroup {
 public:
  struct Parts {
    Engine& engine;
    const Clock& clock;
    DroppableLog& log;
    RewritingTurn& turn;
    std::filesystem::path data;
    BlockingPool blocking;  // a lane of its own
    StageRetention stage;
    // Runs a short step on the commit thread, between two batches. Any thread.
    Post on_commit_thread;
    // Blocks until the read models have everything up to a position; returns false if they can't.
    // Any thread.
    std::function<bool(Position)> follow_to;
    // Computes the read models from the log's base and has them taken over. Blocks. Any thread.
    std::function<Stored<void>(const std::atomic<bool>& stopped)> renew_rows;
    // Called with the outcome of each retention.
    std::function<void(const RetentionOutcome&)> report;
    // Returns why nothing may be dropped at present; nullopt: it may.
    std::function<std::optional<RetentionObstacle>()> obstacle = [] { return std::nullopt; };
    // Blocks until what `obstacle` judges by is known, or has been waited for long enough. Called
    // once there is something to drop, on the blocking lane.
    std::function<void(const std::atomic<bool>& stopped)> await_facts =
        [](const std::atomic<bool>&) {};
  };

  RetentionLoop(Parts parts, const RetentionSettings& settings);
  ~RetentionLoop() override;

  [[nodiscard]] std::span<ScheduledLoop* const> loops() const override { return loops_; }
  // Called with the records of each transaction, which are applied but not durable yet.
  void note_applied(std::span<const Record> records);
  // Returns whether the latest drop of this process took the records of the run, or is about to.
  [[nodiscard]] bool has_dropped(const RunId& run_id) const { return dropped_.contains(run_id); }
  // Called when another server of the cell has dropped records.
  void note_dropped() { latest_ = latest_retention(parts_.log); }
  // Called when the service stops: cancels what is under way, and leaves its tick to the next
  // start.
  void stop() { *stopped_ = true; }

  [[nodiscard]] const ScheduledLoop& loop() const { return loop_; }
  [[nodiscard]] const RetentionSettings& settings() const { return settings_; }
  // Returns the latest retention that dropped records or failed: one of this process, else the
  // latest in the log.
  [[nodiscard]] const std::optional<RetentionOutcome>& latest() const { return latest_; }

 private:
  struct Attempt;

  void tick(const ScheduledLoop::Ended& ended);
  void refuse(RetentionObstacle obstacle, const ScheduledLoop::Ended& ended);
  void plan(const std::shared_ptr<Attempt>& attempt);
  void stage(Attempt& attempt) const;
  Stored<void> store_base(Attempt& attempt) const;
  void drop(const std::shared_ptr<Attempt>& attempt);
  [[nodiscard]] bool is_outdated(const Attempt& attempt) const;
  void finish_files(const std::shared_ptr<Attempt>& attempt);
  // Repeats what the latest drop has left undone.
  void repeat_files(const ScheduledLoop::Ended& ended);
  void conclude(Attempt& attempt);

  const Parts parts_;
  const RetentionSettings settings_;
  std::optional<RetentionOutcome> latest_;
  std::optional<RetentionOutcome> unfinished_;  // the latest drop, if its files aren't finished
  Position examined_ = 0;   // the previous retention found that all records up to here stay
  bool noting_ = false;     // a plan is being made or used
  std::set<Uuid> noted_;    // runs and cards that got records since it was begun
  std::set<Uuid> dropped_;  // runs and cards whose records the latest drop took
  const std::shared_ptr<std::atomic<bool>> stopped_;
  ScheduledLoop loop_;
  const std::array<ScheduledLoop*, 1> loops_{&loop_};
};

}  // namespace signalbox
