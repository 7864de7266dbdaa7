// What finds each mutant: a seed, and a part of the violation. The table is a file beside this one,
// `name seed part of the violation`. Seeds change whenever the course of all seeds does, and
// `simulate --record-mutants` writes them anew; the parts are what is promised, and people write
// them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/simulation/simulation.h"

namespace signalbox::simulation {

struct MutantFinding {
  Mutant mutant = Mutant::none;
  std::uint64_t seed = 0;  // 0: none is recorded
  std::string part;        // of the violation that finds it
};

// A mutant has to be found within this many seeds.
inline constexpr std::uint64_t mutant_seeds_max = 2000;

// Returns the rows of the table, in its order. Throws std::runtime_error if the file can't be read
// or a line of it isn't a row.
std::vector<MutantFinding> read_mutant_table(const std::string& path);
// Replaces the seeds in the file. Throws std::runtime_error if it can't be written.
void write_mutant_seeds(const std::string& path, const std::vector<MutantFinding>& rows);
// Returns the row as its line of the file, without an end.
std::string mutant_line(const MutantFinding& row);

// Returns the options that simulate the mutant with this seed.
SimulationOptions mutant_options(const MutantFinding& row, std::uint64_t seed);
// Returns true if the violation is the one that has to find the mutant.
bool is_found(const MutantFinding& row, const SimulationResult& result);

// What a search for a mutant has found.
struct MutantSearch {
  std::optional<std::uint64_t> seed;  // the recorded one, if it still finds the mutant
  SimulationResult result;            // of the seed
  std::vector<std::string> others;    // kinds of other violations that were met
};

// Simulates the recorded seed and, if it doesn't find the mutant, the first ones.
MutantSearch search_mutant(const MutantFinding& row);

}  // namespace signalbox::simulation
