// The program `simulate`: runs one seed after the other until one fails, or searches for some time.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ratio>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>

#include "tests/simulation/found_seeds.h"
#include "tests/simulation/mutant_table.h"
#include "tests/simulation/search.h"
#include "tests/simulation/simulation.h"
#include "tests/simulation/totals.h"

namespace signalbox::simulation {
namespace {

using WallClock = std::chrono::steady_clock;

double seconds_since(WallClock::time_point begin) {
  return std::chrono::duration<double>(WallClock::now() - begin).count();
}

// Returns the exit code.
int run_seeds(SimulationOptions options, std::uint64_t seeds) {
  const auto begin = WallClock::now();
  Totals totals;
  for (const std::uint64_t end = options.seed + seeds; options.seed < end; ++options.seed) {
    announce(options);
    const SimulationResult result = simulate(options);
    totals.add(result);
    if (!result.violation) continue;
    std::printf("%s", failure_text(options, result).c_str());
    return 1;
  }
  totals.print(seconds_since(begin));
  return 0;
}

// Returns the exit code.
int run_search(const SearchOptions& options) {
  const auto begin = WallClock::now();
  std::printf("seeds from %llu on, in %u processes, for %.0f s\n",
              static_cast<unsigned long long>(options.first.seed), options.processes,
              options.time.count());
  const SearchResult result = search(options);
  result.totals.print(seconds_since(begin));
  std::printf("\nseeds that ended their process: %llu\n",
              static_cast<unsigned long long>(result.aborted));
  return result.totals.failed + result.aborted == 0 ? 0 : 1;
}

// Finds each mutant of the table again and writes the seeds that do. Returns the exit code.
int record_mutants(const std::string& path) {
  std::vector<MutantFinding> rows = read_mutant_table(path);
  bool all_found = true;
  for (MutantFinding& row : rows) {
    const MutantSearch found = search_mutant(row);
    row.seed = found.seed.value_or(0);
    all_found = all_found && found.seed.has_value();
    std::printf("%s\n", mutant_line(row).c_str());
    if (!found.seed) std::printf("  isn't found; found otherwise by:\n");
    for (const std::string& other : found.others) {
      if (!found.seed) std::printf("    %s\n", other.c_str());
    }
    std::fflush(stdout);
  }
  write_mutant_seeds(path, rows);
  return all_found ? 0 : 1;
}

int run(int argc, char** argv) {
  CLI::App app("Simulates the whole service, deterministically: the same seed does the same.");
  std::uint64_t seeds = 100;
  double hours = 0;
  SimulationOptions options;
  SearchOptions searched;
  searched.processes = std::max(1U, std::thread::hardware_concurrency());
  searched.found_seeds = SIGNALBOX_SOURCE_DIR "/tests/simulation/found_seeds.txt";
  std::string mutant = name_of(Mutant::none);
  app.add_option("--seeds", seeds, "How many seeds, one after the other")->capture_default_str();
  const auto* first = app.add_option("--seed", options.seed, "The first (of a search: a new one)");
  const auto* steps =
      app.add_option("--steps", options.steps, "Steps with faults, before all must come to rest")
          ->default_str(std::to_string(options.steps) + ", of a cell " +
                        std::to_string(cell_steps));
  app.add_option("--servers", options.servers, "How many servers share the log, as in a cell")
      ->check(CLI::Range(1, 9))
      ->capture_default_str();
  app.add_option("--trace-lines", options.trace_lines, "How much is shown of a seed that failed")
      ->capture_default_str();
  std::vector<std::string> names{mutant};
  for (const Mutant each : all_mutants()) names.emplace_back(name_of(each));
  auto* seeded = app.add_option("--mutant", mutant, "A bug that the simulator has to find");
  seeded->check(CLI::IsMember(names));
  auto* search_time = app.add_option("--hours", hours, "Searches for so long with new seeds");
  search_time->check(CLI::PositiveNumber)->excludes("--seeds")->excludes(seeded);
  app.add_option("--processes", searched.processes, "How many search at once")
      ->check(CLI::Range(1U, 1024U))
      ->capture_default_str();
  app.add_option("--found", searched.found_seeds, "The file that keeps what a search finds")
      ->capture_default_str();
  app.add_option("--log", options.log, "A new data directory that gets the log, of --seeds 1")
      ->excludes(search_time);
  bool records_mutants = false;
  app.add_flag("--record-mutants", records_mutants,
               "Writes into tests/simulation/mutants.txt which seed finds each mutant");
  CLI11_PARSE(app, argc, argv);
  options.mutant = *mutant_of(mutant);
  if (options.servers > 1 && steps->count() == 0) options.steps = cell_steps;

  if (records_mutants) {
    return record_mutants(SIGNALBOX_SOURCE_DIR "/tests/simulation/mutants.txt");
  }
  if (search_time->count() == 0) return run_seeds(options, seeds);
  if (first->count() == 0) options.seed = fresh_seed();
  searched.first = options;
  searched.time = std::chrono::duration<double, std::ratio<3600>>(hours);
  return run_search(searched);
}

}  // namespace
}  // namespace signalbox::simulation

int main(int argc, char** argv) { return signalbox::simulation::run(argc, argv); }
