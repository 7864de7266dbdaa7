// What the service does by itself, because something was decided or because time has passed, and
// in which order: deadlines, those who wait, the watchdog, the look at the clocks.
//
// It is a part of its own so that the server on its io_context and the simulator on its schedule
// drive the very same one. All calls come from the engine's thread.
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
  };
  struct Reports {
    std::function<void(const ClockJump&)> jumped;  // before it is noted
    // A sweep of the watchdog found it. Its command is applied after this.
    std::function<void(const OverdueItem&)> overdue;
    std::function<void()> swept;
  };

  TimerLoop(const Parts& parts, std::int64_t watchdog_interval_ms, Reports reports);

  // Follows what was applied, durable or not.
  void apply(std::span<const Record> records);

  // Sets all deadlines for their full length from now: at a start, and when the world was rolled
  // back.
  void arm();

  // Sets all leases anew if time didn't go by as it should have. To be called before anything
  // judges a lease after this process may have been stopped: whatever it does first. Says so in the
  // log, unless `stopping`.
  void check_for_clock_jump(bool stopping);

  // Once after everything that came in together: ready stations, who waits for a claim, a lock or a
  // step.
  void turn(StationJobs& jobs);

  // When to call fire() (monotonic, ns).
  [[nodiscard]] std::int64_t next_due_ns() const;
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
