// The service's own loop `watchdog`: ticks at an interval while there is something to watch, and
// sweeps over everything under way. Its ticks are recorded like those of any other loop.
//
// The work of a tick begins only when its start is durable. So the next start sees that a crash
// interrupted a tick, and the loop recovers by itself. All calls come from the engine thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "server/engine/engine.h"
#include "server/platform/clock.h"

namespace signalbox {

class WatchdogLoop {
 public:
  // Does the work of one tick, on the engine thread; an exception fails the tick.
  using Sweep = std::function<void()>;
  using HasWork = std::function<bool(const World& world)>;

  WatchdogLoop(Engine& engine, const Clock& clock, std::int64_t interval_ms, HasWork has_work,
               Sweep sweep)
      : engine_(engine),
        clock_(clock),
        interval_ms_(interval_ms),
        has_work_(std::move(has_work)),
        sweep_(std::move(sweep)) {}

  // Makes a tick due after the interval, unless one already is. Called at the start, and when the
  // world was rolled back, because there may be something to watch.
  void arm();

  // Arms the loop if the records of a commit begin something to watch.
  void apply(std::span<const Record> records);

  // Returns when to call run_if_due() (monotonic, ns); nullopt while there is nothing to watch.
  [[nodiscard]] std::optional<std::int64_t> next_due_ns() const { return due_ns_; }

  // Ticks if a tick is due and there is something to watch.
  void run_if_due();

 private:
  void tick();
  void work(Token token);
  // Ends a tick again whose end the log didn't take.
  void end_again();

  Engine& engine_;
  const Clock& clock_;
  std::int64_t interval_ms_;
  HasWork has_work_;
  Sweep sweep_;
  std::optional<std::int64_t> due_ns_;
  EndTick last_end_;  // of the latest tick whose work is done
};

}  // namespace signalbox
