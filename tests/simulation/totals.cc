#include "tests/simulation/totals.h"

#include <cstdio>
#include <string>

namespace signalbox::simulation {
namespace {

void print_count(const std::string& name, std::uint64_t value) {
  std::printf("%-22s %12llu\n", name.c_str(), static_cast<unsigned long long>(value));
}

}  // namespace

void Totals::add(const SimulationResult& result) {
  ++seeds;
  failed += result.violation ? 1 : 0;
  steps += result.steps;
  events += result.events;
  runs += result.runs;
  acknowledged += result.acknowledged;
  lives += result.lives;
  for (std::size_t kind = 0; kind < fault_kinds; ++kind) faults[kind] += result.faults[kind];
  event_counts.add(result.event_counts);
}

void Totals::add(const Totals& others) {
  seeds += others.seeds;
  failed += others.failed;
  steps += others.steps;
  events += others.events;
  runs += others.runs;
  acknowledged += others.acknowledged;
  lives += others.lives;
  for (std::size_t kind = 0; kind < fault_kinds; ++kind) faults[kind] += others.faults[kind];
  event_counts.add(others.event_counts);
}

void Totals::print(double seconds) const {
  std::printf("\n");
  print_count("seeds", seeds);
  std::printf("%-22s %12.1f\n", "seeds a second", static_cast<double>(seeds) / seconds);
  print_count("seeds that failed", failed);
  print_count("steps", steps);
  print_count("events", events);
  print_count("runs", runs);
  print_count("acknowledged commands", acknowledged);
  print_count("lives of the server", lives);
  std::printf("\nfaults\n");
  for (std::size_t kind = 0; kind < fault_kinds; ++kind) {
    print_count(name_of(static_cast<Fault>(kind)), faults[kind]);
  }
  std::printf("\nevents, by type\n");
  event_counts.for_each(
      [](std::string_view name, std::uint64_t times) { print_count(std::string(name), times); });
  const auto missing = event_counts.missing();
  std::printf("\nevent types that never occurred: %s", missing.empty() ? "none" : "");
  for (const std::string_view name : missing) std::printf("%s ", std::string(name).c_str());
  std::printf("\n");
}

}  // namespace signalbox::simulation
