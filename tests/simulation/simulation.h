// A whole service with its clients, disk and machine in one thread, from one seed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/simulation/event_counts.h"
#include "tests/simulation/faults.h"
#include "tests/simulation/mutant.h"

namespace signalbox::simulation {

struct SimulationOptions {
  std::uint64_t seed = 1;
  std::uint64_t steps = 5000;  // with faults; then all has to come to rest
  Mutant mutant = Mutant::none;
  std::size_t trace_lines = 60;  // that a result has at most
};

struct SimulationResult {
  std::optional<std::string> violation;
  std::vector<std::string> last_lines;  // of the trace
  std::uint64_t trace_digest = 0;
  std::uint64_t steps = 0;   // all of them
  std::uint64_t events = 0;  // in the log
  std::uint64_t runs = 0;
  std::uint64_t commands = 0;      // asked
  std::uint64_t acknowledged = 0;  // of these, with events
  std::uint64_t lives = 0;         // of the server
  FaultCounts faults{};
  EventCounts event_counts;  // by type
};

SimulationResult simulate(const SimulationOptions& options);

// The command line that does the same again.
std::string repeat_line(const SimulationOptions& options);
// The last lines of the trace, what was wrong, and the line that repeats it.
std::string failure_text(const SimulationOptions& options, const SimulationResult& result);

// From now on, should the process abort, the line for these options is printed to stderr: a CHECK
// that fails ends the process before there is a verdict. It aborts if in five minutes these are
// still the latest options, as a step that never ends leads to no verdict either.
void announce(const SimulationOptions& options);

}  // namespace signalbox::simulation
