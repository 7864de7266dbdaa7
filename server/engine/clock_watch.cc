#include "server/engine/clock_watch.h"

namespace signalbox {

std::optional<ClockJump> ClockWatch::check(std::int64_t wall_ns, std::int64_t monotonic_ns) {
  const std::int64_t wall = wall_ns - wall_ns_;
  const std::int64_t monotonic = monotonic_ns - monotonic_ns_;
  wall_ns_ = wall_ns;
  monotonic_ns_ = monotonic_ns;
  const std::int64_t difference = wall > monotonic ? wall - monotonic : monotonic - wall;
  const bool set = difference > tolerance_ns;
  const bool late = monotonic > interval_ns + tolerance_ns;
  if (!set && !late) return std::nullopt;
  return ClockJump{wall / 1'000'000, monotonic / 1'000'000, set ? "wall clock set" : "stopped"};
}

}  // namespace signalbox
