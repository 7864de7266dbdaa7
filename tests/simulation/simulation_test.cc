// Runs the whole service under crashes, failing disks, lost messages and old holders, one seed
// after the other.
// || SIGNALBOX_SEED is the first seed (default 1), SIGNALBOX_SIMULATION_SEEDS their number (default
// 300).
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "tests/fixtures/random_seed.h"
#include "tests/simulation/simulation.h"

namespace signalbox::simulation {
namespace {

constexpr std::uint64_t parts = 6;  // so that ctest runs them in parallel

class SimulatedSeeds : public ::testing::TestWithParam<std::uint64_t> {};

// P1, P2, P3, P4, P6, T9, S2, S3, S4, S6, S11, H1, H3, H4, H5, H8, H9, H11
TEST_P(SimulatedSeeds, KeepAllPromises) {
  const std::uint64_t seeds =
      number_from_environment("SIGNALBOX_SIMULATION_SEEDS").value_or(300) / parts;
  SimulationOptions options;
  options.seed = number_from_environment("SIGNALBOX_SEED").value_or(1) + GetParam() * seeds;
  FaultCounts faults{};
  std::uint64_t acknowledged = 0;
  for (const std::uint64_t end = options.seed + seeds; options.seed < end; ++options.seed) {
    announce(options);
    const SimulationResult result = simulate(options);
    ASSERT_FALSE(result.violation) << failure_text(options, result);
    acknowledged += result.acknowledged;
    for (std::size_t kind = 0; kind < fault_kinds; ++kind) faults[kind] += result.faults[kind];
  }
  if (seeds < 50) return;
  // A simulation in which nothing happens would prove nothing.
  EXPECT_GT(acknowledged, seeds * 10);
  for (std::size_t kind = 0; kind < fault_kinds; ++kind) {
    EXPECT_GT(faults[kind], 0U) << name_of(static_cast<Fault>(kind)) << " never struck";
  }
}

INSTANTIATE_TEST_SUITE_P(All, SimulatedSeeds, ::testing::Range<std::uint64_t>(0, parts));

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
