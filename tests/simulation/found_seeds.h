// The seeds at which the simulator has found something, in a file of the repository. The tests run
// all of them each time, so that a fault that was mended stays mended.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/simulation/simulation.h"

namespace signalbox::simulation {

// A line of the file: the seed, the number of its steps, that of its servers and, for a reader,
// what was found.
struct FoundSeed {
  std::uint64_t seed = 0;
  std::uint64_t steps = 0;
  std::size_t servers = 1;
  std::string violation;
};

// The violation of a seed that ended the process.
inline constexpr std::string_view aborted_violation = "the process aborted";

// Seeds of the same kind of violation that the file takes: one fault is found by many of them.
inline constexpr std::size_t found_seeds_of_a_kind_max = 3;

// Returns the seeds in the file, in its order. Throws std::runtime_error if the file can't be read
// or a line of it isn't one.
std::vector<FoundSeed> read_found_seeds(const std::string& path);

// Appends the simulation that failed to the file, and returns true. Returns false if the file has
// the seed or enough others of the kind, and if it can't be written. Processes may call it at once.
bool keep_found_seed(const std::string& path, const SimulationOptions& options,
                     const std::string& violation);

// Returns the line of the file for this simulation, with its end.
std::string found_seed_line(const SimulationOptions& options, const std::string& violation);

// Returns the violation with `#` for each of its numbers and ids.
std::string kind_of(const std::string& violation);

// Returns a seed that most probably was never tried before, far from those that people choose; with
// a number always the same one.
std::uint64_t fresh_seed(std::optional<std::uint64_t> chosen = std::nullopt);

}  // namespace signalbox::simulation
