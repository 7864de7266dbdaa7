// Searches for a seed that fails, with new seeds for as long as there is time. Each seed is
// simulated in a child process, so that one that aborts doesn't end the search.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "tests/simulation/totals.h"

namespace signalbox::simulation {

struct SearchOptions {
  SimulationOptions first;  // later ones differ in the seed
  std::chrono::duration<double> time{};
  std::uint64_t seeds_max = UINT64_MAX;  // ends the search before its time
  unsigned processes = 1;
  std::string found_seeds;  // the file that what is found is appended to (found_seeds.h)
  // Replaced by tests.
  std::function<SimulationResult(const SimulationOptions&)> simulate_seed = simulate;
};

struct SearchResult {
  Totals totals;              // of the seeds that came to a verdict
  std::uint64_t aborted = 0;  // seeds that ended their process
};

// Searches until the time is over or all seeds are simulated. Each failure is printed to stdout
// with the line that repeats it, and kept. Blocks. Throws std::system_error if no process can be
// begun.
SearchResult search(const SearchOptions& options);

}  // namespace signalbox::simulation
