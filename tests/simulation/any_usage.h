// What attempts use up, and usage limits that they meet: by chance.
#pragma once

#include "domain/station_events.h"
#include "tests/simulation/schedule.h"
#include "tests/simulation/seeded_random.h"

namespace signalbox::simulation {

// Zeros where nobody counted.
inline Usage any_usage(SeededRandom& random) {
  if (random.one_in(2)) return {};
  return {random.between(0, 100'000), random.between(1, 1000), random.between(1, 6)};
}

// When a usage limit that was met at `wall_ns` is over: usually in some seconds; or it was, by the
// clock of who tells it.
inline std::int64_t any_quota_reset_ns(SeededRandom& random, std::int64_t wall_ns) {
  return wall_ns + random.between(-500, 6000) * ns_per_ms;
}

}  // namespace signalbox::simulation
