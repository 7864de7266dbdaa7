// The service's own loop `watchdog`: every so often, while there is something to watch, a tick of
// the same kind as anybody's, in which it sweeps over all that runs.
//
// A tick begins, and what it does follows only when its start is durable: so a crash in the middle
// is seen at the next start, and the loop recovers from it by itself.
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
  // Does the work of one tick on the engine's thread; an exception makes it a failed one.
  using Sweep = std::function<void()>;
  using HasWork = std::function<bool(const World& world)>;

  WatchdogLoop(Engine& engine, const Clock& clock, std::int64_t interval_ms, HasWork has_work,
               Sweep sweep)
      : engine_(engine),
        clock_(clock),
        interval_ms_(interval_ms),
        has_work_(std::move(has_work)),
        sweep_(std::move(sweep)) {}

  // At the start, and when the world was rolled back: there may be something to watch.
  void arm();

  // Follows the records of one commit: something may have begun.
  void apply(std::span<const Record> records);

  // When to call run_if_due(); nullopt while there is nothing to watch.
  [[nodiscard]] std::optional<std::int64_t> next_due_ns() const { return due_ns_; }

  // Ticks, if it is time to and there is something to watch.
  void run_if_due();

 private:
  void tick();
  void work(Token token);

  Engine& engine_;
  const Clock& clock_;
  std::int64_t interval_ms_;
  HasWork has_work_;
  Sweep sweep_;
  std::optional<std::int64_t> due_ns_;
};

}  // namespace signalbox
