// Checks the search for seeds that fail, and the file that keeps what it finds.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "tests/fixtures/file_content.h"
#include "tests/fixtures/temporary_directory.h"
#include "tests/simulation/found_seeds.h"
#include "tests/simulation/search.h"

namespace signalbox::simulation {
namespace {

class SearchTest : public ::testing::Test {
 protected:
  SearchTest() { write_text(found_, "# nothing yet\n"); }

  // Searches seeds 1 to `seeds`. Seed 7 fails, seed 10 aborts, and of those from 20 on each
  // fails in the same way.
  SearchResult search_first(std::uint64_t seeds, unsigned processes) const {
    SearchOptions options;
    options.time = std::chrono::hours(1);
    options.seeds_max = seeds;
    options.processes = processes;
    options.found_seeds = found_;
    options.simulate_seed = [](const SimulationOptions& one) {
      if (one.seed == 10) std::abort();
      SimulationResult result;
      result.steps = 1;
      if (one.seed == 7) result.violation = "a card was lost";
      if (one.seed >= 20) result.violation = "token " + std::to_string(one.seed) + " was lost";
      return result;
    };
    return search(options);
  }

  TemporaryDirectory directory_;
  const std::string found_ = directory_ / "found_seeds.txt";
};

TEST_F(SearchTest, GoesOnAfterSeedsThatFailOrAbort) {
  for (const unsigned processes : {1U, 3U}) {
    const SearchResult result = search_first(19, processes);
    EXPECT_EQ(result.totals.seeds, 18U);  // the one that aborted has no verdict
    EXPECT_EQ(result.totals.failed, 1U);
    EXPECT_EQ(result.aborted, 1U);
  }
  const auto found = read_found_seeds(found_);
  ASSERT_EQ(found.size(), 2U);  // the second search found nothing new
  EXPECT_EQ(found[0].seed, 7U);
  EXPECT_EQ(found[0].steps, SimulationOptions().steps);
  EXPECT_EQ(found[0].servers, 1U);
  EXPECT_EQ(found[0].violation, "a card was lost");
  EXPECT_EQ(found[1].seed, 10U);
  EXPECT_EQ(found[1].violation, aborted_violation);
}

TEST_F(SearchTest, KeepsAFewSeedsOfAKind) {
  const SearchResult result = search_first(29, 1);
  EXPECT_EQ(result.totals.failed, 11U);
  EXPECT_EQ(read_found_seeds(found_).size(), 2 + found_seeds_of_a_kind_max);
}

TEST_F(SearchTest, SearchesNothingWithoutTime) {
  SearchOptions options;
  options.found_seeds = found_;
  EXPECT_EQ(search(options).totals.seeds, 0U);
}

TEST_F(SearchTest, FindsAMutant) {
  SearchOptions options;
  options.time = std::chrono::hours(1);
  options.seeds_max = 4;
  options.found_seeds = found_;
  options.first.mutant = Mutant::due_for_ever;
  const SearchResult result = search(options);
  EXPECT_GT(result.totals.failed, 0U);
}

TEST(FoundSeedsFile, AKindHasNoNumbersAndIds) {
  EXPECT_EQ(kind_of("the lease of token 12 ended after 99 ms"),
            "the lease of token # ended after # ms");
  EXPECT_EQ(kind_of("run 0198-ab12-ffff of a dead face"), "run # of a dead face");
  EXPECT_EQ(kind_of(""), "");
}

TEST_F(SearchTest, ALineThatIsNoSeedIsRefused) {
  write_text(found_, "12 5000 1  # good\n12 5000 many  # bad\n");
  EXPECT_THROW(read_found_seeds(found_), std::runtime_error);
  EXPECT_THROW(read_found_seeds(found_ + ".missing"), std::runtime_error);
  SimulationOptions options;
  EXPECT_FALSE(keep_found_seed(found_, options, "anything"));
}

}  // namespace
}  // namespace signalbox::simulation
