#include "server/platform/store_health.h"

#include <utility>

#include "server/limits.h"
#include "server/platform/call_bounds.h"
#include "server/platform/clock.h"

namespace signalbox {

Stored<void> StoreHealth::admit() {
  const std::lock_guard lock(mutex_);
  if (!trouble_) return {};
  const std::int64_t now_ms = CallBounds::now_ms();
  if (now_ms < next_ms_) return tl::unexpected(trouble_->error);
  // This caller asks; the others hear of the latest error until it has an answer, or is late.
  next_ms_ = now_ms + limits::artifact_store_stall_ms_max;
  return {};
}

void StoreHealth::note(std::optional<StoreError> error) {
  const std::lock_guard lock(mutex_);
  if (!error) {
    trouble_.reset();
    return;
  }
  const std::int64_t since_ns = trouble_ ? trouble_->since_ns : SystemClock().wall_ns();
  trouble_ = StoreTrouble{std::move(*error), since_ns};
  next_ms_ = CallBounds::now_ms() + artifact_store_pause_ms_min;
}

std::optional<StoreTrouble> StoreHealth::trouble() const {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

}  // namespace signalbox
