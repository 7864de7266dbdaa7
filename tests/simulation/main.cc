// The program `simulate`: runs one seed after the other until one fails.
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "tests/simulation/simulation.h"

namespace signalbox::simulation {
namespace {

// Totals over all seeds.
struct Sum {
  std::uint64_t seeds = 0;
  std::uint64_t steps = 0;
  std::uint64_t events = 0;
  std::uint64_t runs = 0;
  std::uint64_t acknowledged = 0;
  std::uint64_t lives = 0;
  FaultCounts faults{};
  EventCounts event_counts;

  void add(const SimulationResult& result) {
    ++seeds;
    steps += result.steps;
    events += result.events;
    runs += result.runs;
    acknowledged += result.acknowledged;
    lives += result.lives;
    for (std::size_t kind = 0; kind < fault_kinds; ++kind) faults[kind] += result.faults[kind];
    event_counts.add(result.event_counts);
  }

  void print(double seconds) const {
    const auto count = [](const char* name, std::uint64_t value) {
      std::printf("%-22s %12llu\n", name, static_cast<unsigned long long>(value));
    };
    std::printf("\n");
    count("seeds", seeds);
    std::printf("%-22s %12.1f\n", "seeds a second", static_cast<double>(seeds) / seconds);
    count("steps", steps);
    count("events", events);
    count("runs", runs);
    count("acknowledged commands", acknowledged);
    count("lives of the server", lives);
    std::printf("\nfaults\n");
    for (std::size_t kind = 0; kind < fault_kinds; ++kind) {
      count(name_of(static_cast<Fault>(kind)), faults[kind]);
    }
    std::printf("\nevents, by type\n");
    event_counts.for_each([&count](std::string_view name, std::uint64_t times) {
      count(std::string(name).c_str(), times);
    });
    const auto missing = event_counts.missing();
    std::printf("\nevent types that never occurred: %s", missing.empty() ? "none" : "");
    for (const std::string_view name : missing) std::printf("%s ", std::string(name).c_str());
    std::printf("\n");
  }
};

int run(int argc, char** argv) {
  CLI::App app("Simulates the whole service, deterministically: the same seed does the same.");
  std::uint64_t seeds = 100;
  SimulationOptions options;
  std::string mutant = name_of(Mutant::none);
  app.add_option("--seeds", seeds, "How many seeds, one after the other")->capture_default_str();
  app.add_option("--seed", options.seed, "The first")->capture_default_str();
  app.add_option("--steps", options.steps, "Steps with faults, before all must come to rest")
      ->capture_default_str();
  app.add_option("--trace-lines", options.trace_lines, "How much is shown of a seed that failed")
      ->capture_default_str();
  std::vector<std::string> names{mutant};
  for (const Mutant each : all_mutants()) names.emplace_back(name_of(each));
  app.add_option("--mutant", mutant, "A bug that the simulator has to find")
      ->check(CLI::IsMember(names));
  CLI11_PARSE(app, argc, argv);
  options.mutant = *mutant_of(mutant);

  const auto begin = std::chrono::steady_clock::now();
  Sum sum;
  for (const std::uint64_t end = options.seed + seeds; options.seed < end; ++options.seed) {
    announce(options);
    const SimulationResult result = simulate(options);
    sum.add(result);
    if (!result.violation) continue;
    std::printf("%s", failure_text(options, result).c_str());
    return 1;
  }
  sum.print(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  return 0;
}

}  // namespace
}  // namespace signalbox::simulation

int main(int argc, char** argv) { return signalbox::simulation::run(argc, argv); }
