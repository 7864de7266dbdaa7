// Checks that the simulator can fail: it finds every bug that is seeded into its wiring of the
// service.
#include <gtest/gtest.h>

#include <string>

#include "tests/simulation/simulation.h"

namespace signalbox::simulation {
namespace {

constexpr std::uint64_t mutant_seeds_max = 2000;

class Mutants : public ::testing::TestWithParam<Mutant> {};

TEST_P(Mutants, AreFoundAndTheSeedRepeatsIt) {
  SimulationOptions options;
  options.mutant = GetParam();
  SimulationResult result;
  for (options.seed = 1; options.seed <= mutant_seeds_max; ++options.seed) {
    announce(options);
    result = simulate(options);
    if (result.violation) break;
  }
  ASSERT_TRUE(result.violation) << "not found within " << mutant_seeds_max << " seeds";
  RecordProperty("seeds", static_cast<int>(options.seed));

  const SimulationResult again = simulate(options);
  EXPECT_EQ(result.violation, again.violation);
  EXPECT_EQ(result.trace_digest, again.trace_digest);
  const std::string text = failure_text(options, result);
  EXPECT_NE(text.find("build/simulate --seed " + std::to_string(options.seed)), std::string::npos);
  EXPECT_NE(text.find(std::string("--mutant ") + name_of(options.mutant)), std::string::npos);
  EXPECT_NE(text.find(*result.violation), std::string::npos);

  // The seeded bug was found, not another one: without it the seed passes.
  options.mutant = Mutant::none;
  EXPECT_FALSE(simulate(options).violation);
}

INSTANTIATE_TEST_SUITE_P(All, Mutants, ::testing::ValuesIn(all_mutants()),
                         [](const auto& parameter) { return name_of(parameter.param); });

}  // namespace
}  // namespace signalbox::simulation
