// A loop of the service with a schedule. Each due time and each trigger leaves exactly one event:
// TickStarted; TickSkipped if a tick is under way; or TickMissed if no tick could begin, because
// the server was down, or the machine was asleep or busy.
//
// A loop that was kept from running ticks at once for the latest of its due times, however late;
// only the ones before are missed. So a loop makes progress on any machine, even if it is always
// later than its interval. After a start and after the wall clock was set, all passed due times are
// missed, and the next one is in the future.
//
// The work of a tick begins only when its start is durable. So the next start sees that a crash
// interrupted a tick, and the loop recovers by itself. All calls come from the engine thread.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>

#include "domain/error.h"
#include "server/engine/engine.h"
#include "server/platform/clock.h"
#include "server/scheduler/schedule.h"

namespace signalbox {

// The result of a trigger.
struct TriggerResult {
  bool began = false;  // false: a tick is under way, and TickSkipped was applied
  Token token = 0;     // of the tick; 0: the tick under way is only about to begin
  std::optional<Rejection> refused = {};  // set: neither event was applied, e.g. STORAGE_FULL
};

class ScheduledLoop {
 public:
  // Ends a tick, successfully if there is no error.
  using Ended = std::function<void(const std::optional<std::string>& error)>;
  struct Work {
    // Called before a tick begins, e.g. to read its policy; calls `then` with the policy's digest,
    // now or later. May be empty.
    std::function<void(std::function<void(const Digest& policy_digest)> then)> prepare;
    // Does the work of a tick and calls `ended`, now or later. An exception fails the tick.
    std::function<void(Token token, Ended ended)> run;
  };

  ScheduledLoop(Engine& engine, const Clock& clock, std::string name, Schedule schedule, Work work);

  // Computes the next due time, and applies TickMissed, with `reason`, for the due times without
  // event. Called at the start, after a roll-back, and after the wall clock was set.
  void arm(const std::string& reason);

  // Returns when to call run_if_due() (monotonic, ns).
  [[nodiscard]] std::int64_t next_due_ns() const { return due_monotonic_ns_; }
  // Begins a tick for the latest due time that has come, if any, and applies TickMissed for the
  // due times before it, with the reason "late" or "asleep".
  void run_if_due();

  // Begins a tick now, unless one is under way, and calls `notify` with the result, now or later.
  // With `again`, a tick under way is followed by another one.
  using Notify = std::function<void(const TriggerResult& triggered)>;
  void trigger(const std::string& reason, bool again = false, Notify notify = {});

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const Schedule& schedule() const { return schedule_; }
  // Returns the next due time (ns, UTC); nullopt if the schedule is never due again.
  [[nodiscard]] std::optional<std::int64_t> due_ns() const { return due_ns_; }
  [[nodiscard]] bool busy() const { return busy_; }
  // Returns how long ago (ns) the loop was due for a tick that hasn't begun; 0: it waits for no
  // tick. Due times that a tick under way skips count from the first of them, until the next tick
  // begins.
  [[nodiscard]] std::int64_t overdue_ns() const;

 private:
  void set_due(std::optional<std::int64_t> due_ns);
  void begin(const std::string& reason, std::int64_t due_ns, const Notify& notify);
  void begin_prepared(BeginTick command, const Notify& notify);
  void run(Token token);
  Decided<void> skip(const std::string& reason, std::int64_t due_ns);
  void skip_due(std::int64_t due_ns);
  void end(Token token, const std::optional<std::string>& error);
  [[nodiscard]] BeginTick begin_command(const std::string& reason, std::int64_t due_ns) const;

  Engine& engine_;
  const Clock& clock_;
  const std::string name_;
  const Schedule schedule_;
  const Work work_;
  std::optional<std::int64_t> due_ns_;  // UTC
  std::int64_t due_monotonic_ns_ = std::numeric_limits<std::int64_t>::max();
  // UTC; the first due time since the latest tick for which none began. 0: there is none.
  std::int64_t without_tick_since_ns_ = 0;
  bool busy_ = false;  // a tick is being prepared or is under way
  // The due time of the tick that is being prepared, and the latest due time that passed meanwhile;
  // else 0. Due times that passed get their events only after the tick's own, so that the latest
  // due time in the log stands for all before it.
  std::int64_t preparing_due_ns_ = 0;
  std::int64_t skipping_until_ns_ = 0;
  bool again_ = false;  // another tick follows the one under way
};

}  // namespace signalbox
