#include "server/engine/redacted_world.h"

#include <utility>

#include "domain/check.h"
#include "domain/evolve.h"
#include "domain/try.h"
#include "projections/history_base.h"

namespace signalbox {

RedactedWorld::RedactedWorld(const EventLog& log, Position position, Event replacement,
                             std::string base)
    : log_(log),
      position_(position),
      replacement_(std::move(replacement)),
      base_(std::move(base)) {}

Stored<void> RedactedWorld::follow(Position to, const std::atomic<bool>& stopped) {
  if (!world_) {
    auto begun = TRY(base_.empty() ? initial_world(log_) : world_in_base(base_));
    world_ = std::move(begun);
  }
  bool interrupted = false;
  TRY(log_.scan(world_->position + 1, to, [&](Record&& record) {
    interrupted = stopped;
    if (interrupted) return false;
    if (record.position == position_) {
      record.event = replacement_;
      record.redacted = true;
    }
    evolve(*world_, record);
    return true;
  }));
  if (interrupted) return store_failure(StoreError::Kind::io, "the service stops");
  return {};
}

void RedactedWorld::apply(std::span<const Record> records) {
  SIGNALBOX_CHECK(world_.has_value());
  for (const Record& record : records) {
    if (record.position > world_->position) evolve(*world_, record);
  }
}

World RedactedWorld::take() {
  SIGNALBOX_CHECK(world_.has_value());
  return *std::exchange(world_, std::nullopt);
}

}  // namespace signalbox
