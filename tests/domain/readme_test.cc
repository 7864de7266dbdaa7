// Compares the transition tables in domain/README.md with those in the code.
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "tests/domain/given_when_then.h"

namespace signalbox {
namespace {

using Rows = std::multiset<std::string>;

// Returns the rows of the table under `heading`, as "from Event to".
Rows rows_under(const std::string& heading) {
  std::ifstream readme(SIGNALBOX_SOURCE_DIR "/domain/README.md");
  Rows rows;
  bool inside = false;
  for (std::string line; std::getline(readme, line);) {
    if (line.starts_with('#')) inside = line == heading;
    if (!inside || !line.starts_with('|')) continue;
    std::istringstream cells(line);
    std::string bar, from, event, to;
    cells >> bar >> from >> bar >> event >> bar >> to;
    if (to.empty() || from == "from") continue;  // not a row of the table
    rows.insert(from + " " + event + " " + to);
  }
  return rows;
}

template <class Table>
Rows rows_of(const Table& table) {
  Rows rows;
  for (const auto& row : table) {
    rows.insert(shown(row.from) + " " + std::string(row.on.name) + " " + shown(row.to));
  }
  return rows;
}

TEST(ReadmeTest, DrawsTheRunTable) { EXPECT_EQ(rows_under("### Run"), rows_of(run_transitions)); }

TEST(ReadmeTest, DrawsTheStationTable) {
  EXPECT_EQ(rows_under("### Station"), rows_of(station_transitions));
}

TEST(ReadmeTest, DrawsTheLockTable) {
  EXPECT_EQ(rows_under("### Lock"), rows_of(lock_transitions));
}

TEST(ReadmeTest, DrawsTheTickTable) {
  EXPECT_EQ(rows_under("### Tick"), rows_of(tick_transitions));
}

TEST(ReadmeTest, DrawsThePlanTable) {
  EXPECT_EQ(rows_under("### Plan"), rows_of(plan_transitions));
}

TEST(ReadmeTest, DrawsTheStepTable) {
  EXPECT_EQ(rows_under("### Step"), rows_of(step_transitions));
}

TEST(ReadmeTest, DrawsTheCardTable) {
  EXPECT_EQ(rows_under("### Card"), rows_of(card_transitions));
}

TEST(ReadmeTest, DrawsTheRunnerTable) {
  EXPECT_EQ(rows_under("### Runner"), rows_of(runner_transitions));
}

TEST(ReadmeTest, DrawsTheAccessTokenTable) {
  EXPECT_EQ(rows_under("### Access token"), rows_of(access_token_transitions));
}

}  // namespace
}  // namespace signalbox
