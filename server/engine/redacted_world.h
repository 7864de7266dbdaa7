// The world as it is once a record is redacted, folded from the log beside a running engine.
//
// No decision depends on a free text, so the engine goes on with its own world meanwhile, and takes
// this one at the position of both (Engine::exchange_world()).
#pragma once

#include <atomic>
#include <optional>
#include <span>
#include <string>

#include "domain/world.h"
#include "store/event_log.h"

namespace signalbox {

class RedactedWorld {
 public:
  // `replacement` takes the place of the event at `position`, and the log must still fold with it.
  // `base` takes the place of the log's base, unless it is empty. `log` outlives this object.
  RedactedWorld(const EventLog& log, Position position, Event replacement, std::string base = {});

  // Folds the log up to `to`, at first from the log's base. Blocks while it reads; fails with `io`
  // soon after `stopped` is set, and as the log does. One thread at a time.
  Stored<void> follow(Position to, const std::atomic<bool>& stopped);
  // Applies records that may not be durable yet, and skips those that it has.
  void apply(std::span<const Record> records);
  [[nodiscard]] Position position() const { return world_ ? world_->position : 0; }
  // Moves the world out.
  [[nodiscard]] World take();

 private:
  const EventLog& log_;
  const Position position_;
  const Event replacement_;
  const std::string base_;
  std::optional<World> world_;  // nullopt: not begun
};

}  // namespace signalbox
