// Simulates the whole service with its clients, disk and machine in one thread, from one seed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/simulation/event_counts.h"
#include "tests/simulation/faults.h"
#include "tests/simulation/mutant.h"

namespace signalbox::simulation {

// How many servers the cells of tests have: one that writes, and two of which one may fail.
inline constexpr std::size_t cell_servers = 3;
// The steps of such a simulation: most are those of servers that look at the log.
inline constexpr std::uint64_t cell_steps = 20'000;

struct SimulationOptions {
  std::uint64_t seed = 1;
  std::uint64_t steps = 5000;  // with faults; after them everything has to come to rest
  Mutant mutant = Mutant::none;
  std::size_t servers = 1;       // more: of a cell, over one log
  std::size_t trace_lines = 60;  // at most this many in a result
  // Unless it is empty, a new data directory that gets the log. Then nothing is dropped from it,
  // and nothing is redacted.
  std::filesystem::path log;
};

struct SimulationResult {
  std::optional<std::string> violation;
  std::vector<std::string> last_lines;  // of the trace
  std::uint64_t trace_digest = 0;
  std::uint64_t steps = 0;   // those without faults included
  std::uint64_t events = 0;  // in the log
  std::uint64_t runs = 0;
  std::uint64_t commands = 0;      // sent
  std::uint64_t acknowledged = 0;  // commands whose result acknowledged events
  std::uint64_t judged = 0;        // answers that were compared with the log
  std::uint64_t lives = 0;         // of the server
  FaultCounts faults{};
  std::vector<std::pair<std::string, std::uint64_t>> cell_faults;  // by name
  EventCounts event_counts;                                        // by type
};

// Runs one simulation. The same options give the same result. Blocks until the verdict.
SimulationResult simulate(const SimulationOptions& options);

// Returns the command line that repeats the simulation.
std::string repeat_line(const SimulationOptions& options);
// Returns the last lines of the trace, the violation, and the line that repeats it.
std::string failure_text(const SimulationOptions& options, const SimulationResult& result);

// Prints the line that repeats these options to stderr if the process aborts from now on: a CHECK
// that fails ends the process before there is a verdict. Aborts if these are still the latest
// options after five minutes, because a step that never ends gives no verdict either. Unless it is
// empty, `found_seeds` is the file that the seed is appended to before the process is gone.
void announce(const SimulationOptions& options, const std::string& found_seeds = {});

}  // namespace signalbox::simulation
