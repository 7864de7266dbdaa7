// Checks that the simulator can fail: it finds every bug that is seeded into its wiring of the
// service, by the violation that mutants.txt names. Each test begins with the seed that is recorded
// there; if that no longer finds the mutant, it searches and prints the line to record. A third of
// them, others in each run, are also repeated, and run without the bug; SIGNALBOX_EVERY_FAULT=1
// does that for all.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <ostream>
#include <string>
#include <vector>

#include "tests/fixtures/file_content.h"
#include "tests/fixtures/random_seed.h"
#include "tests/fixtures/temporary_directory.h"
#include "tests/simulation/mutant_table.h"
#include "tests/simulation/simulation.h"

namespace signalbox::simulation {

// Shows a mutant by its name, where googletest would show bytes.
void PrintTo(Mutant mutant, std::ostream* out) { *out << name_of(mutant); }

namespace {

constexpr std::size_t mutant_turns = 3;

const std::string mutants_path = SIGNALBOX_SOURCE_DIR "/tests/simulation/mutants.txt";

MutantFinding finding_of(Mutant mutant) {
  const std::vector<MutantFinding> rows = read_mutant_table(mutants_path);
  const auto row = std::find_if(rows.begin(), rows.end(), [mutant](const MutantFinding& each) {
    return each.mutant == mutant;
  });
  return row == rows.end() ? MutantFinding() : *row;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += "\n  " + line;
  return text.empty() ? "\n  nothing" : text;
}

// K8
class Mutants : public ::testing::TestWithParam<Mutant> {};

TEST_P(Mutants, AreFoundAndTheSeedRepeatsIt) {
  const MutantFinding row = finding_of(GetParam());
  ASSERT_EQ(row.mutant, GetParam()) << "mutants.txt has no row of " << name_of(GetParam());
  const MutantSearch search = search_mutant(row);
  ASSERT_TRUE(search.seed) << "not found within " << mutant_seeds_max << " seeds by \"" << row.part
                           << "\"; found otherwise by:" << joined(search.others);
  if (*search.seed != row.seed) {
    std::cout << "seed " << row.seed << " doesn't find it any more; record with `build/simulate "
              << "--record-mutants`, or:\n"
              << mutant_line({row.mutant, *search.seed, row.part}) << std::endl;
  }
  RecordProperty("seed", std::to_string(*search.seed));

  SimulationOptions options = mutant_options(row, *search.seed);
  const std::string text = failure_text(options, search.result);
  EXPECT_NE(text.find("build/simulate --seed " + std::to_string(options.seed)), std::string::npos);
  EXPECT_NE(text.find(std::string("--mutant ") + name_of(options.mutant)), std::string::npos);
  EXPECT_NE(text.find(*search.result.violation), std::string::npos);

  const FaultRotation rotation(mutant_turns);
  if (static_cast<std::size_t>(GetParam()) % rotation.stride != rotation.first) return;
  const SimulationResult again = simulate(options);
  EXPECT_EQ(search.result.violation, again.violation);
  EXPECT_EQ(search.result.trace_digest, again.trace_digest);
  // The seeded bug was found, not another one: without it the seed passes.
  options.mutant = Mutant::none;
  EXPECT_FALSE(simulate(options).violation);
}

INSTANTIATE_TEST_SUITE_P(All, Mutants, ::testing::ValuesIn(all_mutants()),
                         [](const auto& parameter) { return name_of(parameter.param); });

TEST(MutantTable, HasEachMutantOnce) {
  std::vector<Mutant> named;
  const std::vector<MutantFinding> rows = read_mutant_table(mutants_path);
  for (const MutantFinding& row : rows) {
    EXPECT_GE(row.part.size(), 10U) << name_of(row.mutant) << " is found by anything";
    EXPECT_LE(row.seed, mutant_seeds_max) << name_of(row.mutant);
    named.push_back(row.mutant);
  }
  std::sort(named.begin(), named.end());
  EXPECT_EQ(named, all_mutants());
}

TEST(MutantTable, KeepsItsCommentsWithNewSeeds) {
  const TemporaryDirectory directory;
  const std::string path = directory / "mutants.txt";
  write_text(path,
             "# what finds them\n\nkey_ignored 3  its key is taken\n"
             "due_for_ever 4  time stands still\n");
  write_mutant_seeds(path, {{Mutant::key_ignored, 17, "its key is taken"}});
  const std::vector<std::string> lines = lines_of(path);
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[0], "# what finds them");
  EXPECT_EQ(lines[2], mutant_line({Mutant::key_ignored, 17, "its key is taken"}));
  EXPECT_EQ(lines[3], "due_for_ever 4  time stands still");
  EXPECT_EQ(read_mutant_table(path)[0].seed, 17U);
  write_text(path, "no_such_mutant 3  anything at all\n");
  EXPECT_THROW(read_mutant_table(path), std::runtime_error);
}

}  // namespace
}  // namespace signalbox::simulation
