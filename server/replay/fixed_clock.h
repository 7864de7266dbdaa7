// A clock that always returns one moment, for answering queries about the past.
#pragma once

#include "server/platform/clock.h"

namespace signalbox {

class FixedClock final : public Clock {
 public:
  // `wall_ns` is in UTC; the monotonic time is always 0.
  explicit FixedClock(std::int64_t wall_ns) : wall_ns_(wall_ns) {}
  [[nodiscard]] std::int64_t wall_ns() const override { return wall_ns_; }
  [[nodiscard]] std::int64_t monotonic_ns() const override { return 0; }

 private:
  const std::int64_t wall_ns_;
};

}  // namespace signalbox
