// Totals over all seeds that were simulated, as `simulate` prints them.
#pragma once

#include <cstdint>

#include "tests/simulation/simulation.h"

namespace signalbox::simulation {

// Lies in memory that processes share, so it has no pointers.
struct Totals {
  std::uint64_t seeds = 0;
  std::uint64_t failed = 0;  // seeds
  std::uint64_t steps = 0;
  std::uint64_t events = 0;
  std::uint64_t runs = 0;
  std::uint64_t acknowledged = 0;
  std::uint64_t lives = 0;
  FaultCounts faults{};
  EventCounts event_counts;

  // Adds the result of one seed.
  void add(const SimulationResult& result);
  void add(const Totals& others);
  // Prints everything to stdout. `seconds` is how long it took.
  void print(double seconds) const;
};

}  // namespace signalbox::simulation
