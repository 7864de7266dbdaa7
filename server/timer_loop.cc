#include "server/timer_loop.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "server/engine/engine.h"
#include "server/rpc/claim_queue.h"
#include "server/rpc/lock_queue.h"
#include "server/rpc/step_queue.h"
#include "server/scheduler/station_jobs.h"

namespace signalbox {
TimerLoop::TimerLoop(const Parts& parts, std::int64_t watchdog_interval_ms, Reports reports)
    : parts_(parts),
      reports_(std::move(reports)),
      clock_watch_(parts.clock.wall_ns(), parts.clock.monotonic_ns()),
      sweep_(watchdog_interval_ms, parts.has_job),
      watchdog_(parts.engine, parts.clock, watchdog_interval_ms, WatchdogSweep::has_work,
                [this] { end_overdue(); }) {}

void TimerLoop::apply(std::span<const Record> records) {
  timers_.apply(parts_.engine.world(), records, parts_.engine.now_ns(),
                parts_.clock.monotonic_ns());
  parts_.locks.apply(records);
  sweep_.apply(records);
  watchdog_.apply(records);
}

void TimerLoop::arm(const World& world) {
  // A server that stood by until now didn't look at the clocks.
  clock_watch_ = ClockWatch(parts_.clock.wall_ns(), parts_.clock.monotonic_ns());
  // By the time of the log: a wait isn't longer because this server's clock is behind.
  timers_.arm_all(world, parts_.engine.now_ns(), parts_.clock.monotonic_ns());
  sweep_.forget();
  watchdog_.arm();
}

void TimerLoop::check_for_clock_jump(bool stopping) {
  const std::int64_t monotonic_ns = parts_.clock.monotonic_ns();
  if (monotonic_ns < clock_watch_.next_poll_ns()) return;
  const auto jump = clock_watch_.check(parts_.clock.wall_ns(), monotonic_ns);
  if (!jump) return;
  reports_.jumped(*jump);
  timers_.restart_leases(parts_.engine.world(), monotonic_ns);
  sweep_.forget();
  if (stopping) return;
  (void)parts_.engine.begin(by_the_service)
      .apply(NoteClockJump{jump->wall_ms, jump->monotonic_ms, jump->cause});
}

void TimerLoop::restart_leases(std::int64_t away_ms, const std::string& cause) {
  timers_.restart_leases(parts_.engine.world(), parts_.clock.monotonic_ns());
  sweep_.forget();
  (void)parts_.engine.begin(by_the_service).apply(NoteClockJump{away_ms, away_ms, cause});
}

bool TimerLoop::renew_lease(const Run& run) {
  if (!timers_.renew(run, parts_.clock.monotonic_ns())) return false;
  sweep_.note_renewal(run.id);
  return true;
}

bool TimerLoop::renew_lease(const Run& run, const StepState& step) {
  return timers_.renew_step(run, step, parts_.clock.monotonic_ns());
}

void TimerLoop::turn(StationJobs& jobs) {
  check_for_clock_jump(/*stopping=*/false);
  jobs.dispatch_ready();
  parts_.claims.serve(parts_.clock.monotonic_ns());
  parts_.locks.serve(parts_.clock.monotonic_ns());
  parts_.steps.serve(parts_.clock.monotonic_ns());
}

std::int64_t TimerLoop::next_due_ns() const {
  std::int64_t due_ns = clock_watch_.next_poll_ns();
  const auto not_later_than = [&due_ns](const std::optional<std::int64_t>& next_ns) {
    if (next_ns) due_ns = std::min(due_ns, *next_ns);
  };
  not_later_than(parts_.claims.next_due_ns());
  not_later_than(parts_.locks.next_due_ns());
  not_later_than(parts_.steps.next_due_ns());
  // Without disk space no command can be applied, so deadlines have to wait. Callers that wait for
  // a claim or a lock still get their answer when that wait ends.
  if (!parts_.engine.holds_deadlines()) {
    not_later_than(timers_.next_due_ns());
    not_later_than(watchdog_.next_due_ns());
  }
  return due_ns;
}

void TimerLoop::fire() {
  check_for_clock_jump(/*stopping=*/false);
  if (parts_.engine.holds_deadlines()) return;
  // First the locks: a waiter takes an expired lock over before its timer releases it.
  parts_.locks.serve(parts_.clock.monotonic_ns());
  for (const Command& command :
       timers_.take_due(parts_.engine.world(), parts_.clock.monotonic_ns())) {
    (void)parts_.engine.begin(by_the_service).apply(command);
  }
  watchdog_.run_if_due();
}

// Ends what the watchdog found overdue: its own timer, or the job's supervisor, missed it.
void TimerLoop::end_overdue() {
  for (const OverdueItem& item :
       sweep_.find_overdue(parts_.engine.world(), parts_.clock.monotonic_ns())) {
    reports_.overdue(item);
    if (item.command) (void)parts_.engine.begin(by_the_service).apply(*item.command);
  }
  reports_.swept();
}

}  // namespace signalbox
