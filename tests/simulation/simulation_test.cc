// Runs the whole service under crashes, failing disks, lost messages and old holders, one seed
// after the other: the same ones, of which each run has a sixth, those that once found a fault, and
// new ones.
//
// SIGNALBOX_SIMULATION_SEEDS is the number of the same ones (default 300), SIGNALBOX_FRESH_SEEDS
// that of the new ones (default 60; of cells a sixth), SIGNALBOX_SEED where these begin.
// SIGNALBOX_EVERY_FAULT=1 tries them all.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "tests/fixtures/random_seed.h"
#include "tests/simulation/found_seeds.h"
#include "tests/simulation/simulation.h"

namespace signalbox::simulation {
namespace {

constexpr std::uint64_t sixths = 6;
constexpr std::uint64_t cell_seeds = 12;
constexpr std::uint64_t enough_for_all_faults = 50;
constexpr std::uint64_t fresh_parts = 2;  // so that ctest runs them in parallel

std::uint64_t fresh_seeds() {
  return number_from_environment("SIGNALBOX_FRESH_SEEDS").value_or(60);
}

const std::string found_seeds_path = SIGNALBOX_SOURCE_DIR "/tests/simulation/found_seeds.txt";

// Requires that this many seeds, from `first` on, keep all promises, and that there was something
// to keep. Goes on with the next ones while a kind of fault has yet to strike, up to four times as
// many: the rare ones don't in each fifty seeds.
void expect_promises_kept(std::uint64_t first, std::uint64_t seeds) {
  SimulationOptions options;
  options.seed = first;
  FaultCounts faults{};
  std::uint64_t acknowledged = 0;
  std::uint64_t judged = 0;
  const auto some_fault_never_struck = [&faults] {
    return std::find(faults.begin(), faults.end(), 0U) != faults.end();
  };
  for (std::uint64_t done = 0; done < seeds || (seeds >= enough_for_all_faults &&
                                                done < 4 * seeds && some_fault_never_struck());
       ++done, ++options.seed) {
    announce(options);
    const SimulationResult result = simulate(options);
    ASSERT_FALSE(result.violation) << failure_text(options, result);
    acknowledged += result.acknowledged;
    judged += result.judged;
    for (std::size_t kind = 0; kind < fault_kinds; ++kind) faults[kind] += result.faults[kind];
  }
  if (seeds < enough_for_all_faults) return;
  // A simulation in which nothing happens would prove nothing.
  EXPECT_GT(acknowledged, seeds * 10);
  EXPECT_GT(judged, seeds * 10);
  for (std::size_t kind = 0; kind < fault_kinds; ++kind) {
    EXPECT_GT(faults[kind], 0U) << name_of(static_cast<Fault>(kind)) << " never struck";
  }
}

// P1, P2, P3, P4, P6, T9, S2, S3, S4, S6, S11, H1, H3, H4, H5, H8, H9, H11
TEST(SimulatedSeeds, KeepAllPromises) {
  const std::uint64_t seeds =
      number_from_environment("SIGNALBOX_SIMULATION_SEEDS").value_or(300) / sixths;
  const FaultRotation rotation(sixths);
  for (std::uint64_t sixth = rotation.first; sixth < sixths && !::testing::Test::HasFailure();
       sixth += rotation.stride) {
    expect_promises_kept(1 + sixth * seeds, seeds);
  }
}

// K8: the same for cells of several servers. Each fault of a cell strikes in these seeds.
TEST(SimulatedCells, KeepAllPromises) {
  SimulationOptions options;
  options.servers = cell_servers;
  options.steps = cell_steps;
  std::map<std::string, std::uint64_t> faults;
  std::uint64_t acknowledged = 0;
  std::uint64_t taken = 0;
  for (options.seed = 1; options.seed <= cell_seeds; ++options.seed) {
    announce(options);
    const SimulationResult result = simulate(options);
    ASSERT_FALSE(result.violation) << failure_text(options, result);
    acknowledged += result.acknowledged;
    result.event_counts.for_each([&taken](std::string_view name, std::uint64_t count) {
      if (name == "CellTaken") taken += count;
    });
    for (const auto& [name, count] : result.cell_faults) faults[name] += count;
  }
  EXPECT_GT(acknowledged, cell_seeds * 20);
  EXPECT_GT(taken, cell_seeds * 3);
  for (const auto& entry : faults) EXPECT_GT(entry.second, 0U) << entry.first << " never struck";
}

TEST(SimulatedCells, TakeTheSameCourseForTheSameSeed) {
  SimulationOptions options;
  options.servers = cell_servers;
  options.steps = cell_steps;
  options.seed = 3;
  announce(options);
  const SimulationResult one = simulate(options);
  const SimulationResult other = simulate(options);
  EXPECT_EQ(one.trace_digest, other.trace_digest);
  EXPECT_EQ(one.steps, other.steps);
}

// Simulates seeds that most probably nobody has tried before. One that fails is kept.
void expect_promises_kept_by_fresh(SimulationOptions options, std::uint64_t seeds) {
  std::cout << "again with: build/simulate --seed " << options.seed << " --seeds " << seeds
            << " --servers " << options.servers << std::endl;
  for (const std::uint64_t end = options.seed + seeds; options.seed < end; ++options.seed) {
    announce(options, found_seeds_path);
    const SimulationResult result = simulate(options);
    if (!result.violation) continue;
    const bool kept = keep_found_seed(found_seeds_path, options, *result.violation);
    FAIL() << failure_text(options, result) << (kept ? "kept in " : "not kept in ")
           << found_seeds_path;
  }
}

class FreshSimulatedSeeds : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(FreshSimulatedSeeds, KeepAllPromises) {
  const std::uint64_t seeds = fresh_seeds() / fresh_parts;
  SimulationOptions options;
  options.seed = fresh_seed(number_from_environment("SIGNALBOX_SEED")) + GetParam() * seeds;
  expect_promises_kept_by_fresh(options, seeds);
}

TEST(FreshSimulatedCells, KeepAllPromises) {
  SimulationOptions options;
  options.seed = fresh_seed(number_from_environment("SIGNALBOX_SEED"));
  options.servers = cell_servers;
  options.steps = cell_steps;
  expect_promises_kept_by_fresh(options, fresh_seeds() / sixths);
}

INSTANTIATE_TEST_SUITE_P(All, FreshSimulatedSeeds, ::testing::Range<std::uint64_t>(0, fresh_parts));

// What was once found, and mended, stays mended.
TEST(FoundSeeds, KeepAllPromises) {
  const std::vector<FoundSeed> found = read_found_seeds(found_seeds_path);
  for (const FoundSeed& each : found) {
    SimulationOptions options;
    options.seed = each.seed;
    options.steps = each.steps;
    options.servers = each.servers;
    announce(options);
    const SimulationResult result = simulate(options);
    EXPECT_FALSE(result.violation)
        << failure_text(options, result) << "once found: " << each.violation;
  }
}

TEST(Simulation, OfOneSeedDoesTheSameEachTime) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SimulationOptions options;
    options.seed = seed;
    announce(options);
    const SimulationResult first = simulate(options);
    const SimulationResult again = simulate(options);
    EXPECT_EQ(first.trace_digest, again.trace_digest) << repeat_line(options);
    EXPECT_EQ(first.last_lines, again.last_lines) << repeat_line(options);
    EXPECT_EQ(first.steps, again.steps) << repeat_line(options);
    EXPECT_EQ(first.faults, again.faults) << repeat_line(options);
  }
}

TEST(Simulation, OfAnotherSeedDoesSomethingElse) {
  SimulationOptions options;
  options.steps = 200;
  const SimulationResult first = simulate(options);
  options.seed = 2;
  EXPECT_NE(first.trace_digest, simulate(options).trace_digest);
}

}  // namespace
}  // namespace signalbox::simulation
