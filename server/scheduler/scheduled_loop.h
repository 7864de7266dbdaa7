// A loop of the service that has a schedule: each time it is due leaves exactly one event, and so
// does each trigger. TickStarted, or TickSkipped where a tick is under way, or TickMissed where
// nothing could begin it: the server was down, or the machine asleep.
//
// What a tick does follows only when its start is durable; a crash in its middle is seen at the
// next start, and the loop recovers by itself. All calls come from the engine's thread.
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

// What a trigger came to.
struct Triggered {
  bool began = false;  // else a tick is under way, and that is in the log
  Token token = 0;     // of the tick; 0: the one under way is only about to begin
  std::optional<Rejection> refused = {};  // neither: there is no space for an event
};

// The reason of ticks that were missed when the clocks parted for `cause` (ClockJumped).
inline std::string missed_because(const std::string& cause) {
  return cause == "stopped" ? "asleep" : cause;
}

class ScheduledLoop {
 public:
  // The end of a tick: without an error it succeeded.
  using Ended = std::function<void(const std::optional<std::string>& error)>;
  struct Work {
    // Before a tick begins, e.g. reads what it goes by; gives the digest of that. Empty: nothing.
    std::function<void(std::function<void(const Digest& policy_digest)> then)> prepare;
    // The tick itself.
    std::function<void(Token token, Ended ended)> run;
  };

  ScheduledLoop(Engine& engine, const Clock& clock, std::string name, Schedule schedule, Work work);

  // At the start, after a roll-back, and when wall clock and monotonic clock parted: notes what was
  // missed since the latest due time that has its event, for `reason`.
  void arm(const std::string& reason);

  // When to call run_if_due() (monotonic, ns).
  [[nodiscard]] std::int64_t next_due_ns() const { return due_monotonic_ns_; }
  void run_if_due();

  // Begins a tick now, if none is under way, and tells when it has begun. `again`: else another one
  // follows the one under way.
  using Notify = std::function<void(const Triggered& triggered)>;
  void trigger(const std::string& reason, bool again = false, Notify notify = {});

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const Schedule& schedule() const { return schedule_; }
  // The next due time (UTC); none: there is none any more.
  [[nodiscard]] std::optional<std::int64_t> due_ns() const { return due_ns_; }
  [[nodiscard]] bool busy() const { return busy_; }

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
  bool busy_ = false;  // from the begin, what comes before it included
  // While a tick is prepared that was due: when, and until when others were, which have their
  // events only after its own, so that the latest one in the log stands for all before it. Else 0.
  std::int64_t preparing_due_ns_ = 0;
  std::int64_t skipping_until_ns_ = 0;
  bool again_ = false;
};

}  // namespace signalbox
