// The reactions of the service to decided events and to time, in their order: deadlines, waiting
// claims and locks, the watchdog, and the check for clock jumps.
//
// This is separate from Server so that the simulator drives the same code on its own schedule as
// the server does on its io_context. All calls come from the engine thread.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "server/engine/clock_watch.h"
#include "server/engine/engine.h"
#include "server/engine/timers.h"
#include "server/platform/clock.h"
#include "server/scheduler/watchdog_loop.h"
#include "server/scheduler/watchdog_sweep.h"

namespace signalbox {

class ClaimQueue;
class LockQueue;
class StepQueue;
class StationJobs;

class TimerLoop {
 public:
  struct Parts {
    Engine& engine;
    const Clock& clock;
    ClaimQueue& claims;
    LockQueue& locks;
    StepQueue& steps;
    WatchdogSweep::HasJob has_job = {};
  };
  struct Reports {
    std::function<void(const ClockJump&)> jumped;  // before ClockJumped is applied
    // A sweep of the watchdog found `item`. Its command is applied after this call.
    std::function<void(const OverdueItem&)> overdue;
    std::function<void()> swept;  // a sweep has ended
  };

  TimerLoop(const Parts& parts, std::int64_t watchdog_interval_ms, Reports reports);

  // Updates deadlines with the records of one commit; they need not be durable yet.
  void apply(std::span<const Record> records);

  // Arms all deadlines of the engine's world, or of the one that it is rolled back to, for their
  // full length from now. Called at the start, when the world is rolled back, because deadlines of
  // what didn't become durable don't count, and when there is space again.
  void arm(const World& world);

  // Restarts all leases if the clocks jumped, and applies NoteClockJump unless `stopping`. Must be
  // called before any lease is evaluated after this process may have been stopped, that is, first
  // in every callback.
  void check_for_clock_jump(bool stopping);

  // Restarts all leases after a time in which nothing could be recorded, and records that.
  void restart_leases(std::int64_t away_ms, const std::string& cause);

  // Renews the lease of a run's attempt, or of a step's, in memory. Returns false if that has to be
  // recorded (Timers::renew()).
  bool renew_lease(const Run& run);
  bool renew_lease(const Run& run, const StepState& step);

  // Dispatches ready stations and serves waiting claims, locks and steps. Called once for all input
  // that arrives together.
  void turn(StationJobs& jobs);

  // Returns when fire() is due (monotonic, ns).
  [[nodiscard]] std::int64_t next_due_ns() const;
  // Applies the commands of expired deadlines and runs the watchdog if it is due.
  void fire();

  [[nodiscard]] Timers& timers() { return timers_; }

 private:
  void end_overdue();

  const Parts parts_;
  const Reports reports_;
  ClockWatch clock_watch_;
  Timers timers_;
  WatchdogSweep sweep_;
  WatchdogLoop watchdog_;
};

}  // namespace signalbox
