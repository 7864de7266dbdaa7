// Lists, events and the timeline on the command line: found by what they are about, over a span of
// time, after a crash.
#include "tests/scenarios/cli_fixture.h"

namespace signalbox {
namespace {

namespace json = boost::json;

class ListsCliTest : public CliTest {
 protected:
  // Returns the goals of the listed runs.
  [[nodiscard]] std::vector<std::string> listed(std::vector<std::string> options) const {
    options.insert(options.begin(), {"run", "list"});
    const json::object page = result(std::move(options));
    std::vector<std::string> goals;
    for (const json::value& run : page.at("runs").as_array()) {
      goals.push_back(text(run.as_object(), "goal"));
    }
    return goals;
  }
};

using GoalsInOrder = std::vector<std::string>;

TEST_F(ListsCliTest, RunsAreListedByWhatTheOptionsSay) {  // O5
  const std::string first = start_run("Fix the parser");
  start_run("Fix the printer");
  const std::string last = start_run("Write a page");
  for (const std::string& run : {last, first}) {
    ASSERT_EQ(server_.cli({"run", "cancel", run}).exit_code, 0);
  }
  EXPECT_EQ(listed({"--since", "1h"}).size(), 3U);
  EXPECT_EQ(listed({"--until", "1h"}), GoalsInOrder());
  EXPECT_EQ(listed({"--text", "FIX"}), GoalsInOrder({"Fix the printer", "Fix the parser"}));
  EXPECT_EQ(listed({"--status", "canceled", "--status", "failed"}),
            GoalsInOrder({"Write a page", "Fix the parser"}));
  EXPECT_EQ(listed({"--order-by", "ended", "--limit", "1", "--all"}),
            GoalsInOrder({"Fix the parser", "Write a page"}));
  const Output totals = server_.cli({"run", "list", "--status", "queued", "--totals"});
  EXPECT_NE(totals.out.find("\n1 queued, 2 canceled\n"), std::string::npos) << totals.out;
  EXPECT_EQ(server_.cli({"run", "list", "--since", "lately"}).exit_code, 2);
}

TEST_F(ListsCliTest, EventsAreReadBackwardsAndFromAnAge) {  // O5
  const std::string run = start_run("to be seen");
  ASSERT_EQ(server_.cli({"run", "cancel", run}).exit_code, 0);
  const auto positions = [this](std::vector<std::string> words) {
    std::vector<int> found;
    const json::object page = result(std::move(words));
    for (const json::value& event : page.at("events").as_array()) {
      found.push_back(event.at("position").to_number<int>());
    }
    return found;
  };
  std::vector<int> all = positions({"events", "--from", "1h"});
  ASSERT_GE(all.size(), 3U);
  EXPECT_EQ(all.front(), 1);
  std::reverse(all.begin(), all.end());
  EXPECT_EQ(positions({"events", "--backwards"}), all);
  EXPECT_EQ(positions({"events", "--backwards", "--limit", "1"}), std::vector<int>({all.front()}));
  EXPECT_EQ(positions({"events", "--stream", "run/" + run, "--type", "RunCanceled"}).size(), 1U);
  EXPECT_EQ(positions({"events", "--actor", "nobody"}).size(), 0U);
  const Output types = server_.cli({"events", "--list-types"});
  EXPECT_NE(types.out.find("RunPaused"), std::string::npos) << types.out;
  EXPECT_EQ(server_.cli({"events", "--from", "lately"}).exit_code, 2);
}

TEST_F(ListsCliTest, TheTimelineShowsRunsAndACrash) {  // O5
  const std::string canceled = start_run("the first");
  ASSERT_EQ(server_.cli({"run", "cancel", canceled}).exit_code, 0);
  start_run("the second");
  server_.kill();
  server_.start();
  const json::object shown = result({"timeline", "--from", "1h"});
  EXPECT_EQ(shown.at("timeline").at("runs_total"), 2);
  int crashes = 0;
  int starts = 0;
  for (const json::value& mark : shown.at("marks").as_array()) {
    crashes += mark.at("kind") == "crash" ? 1 : 0;
    starts += mark.at("kind") == "start" ? 1 : 0;
  }
  EXPECT_EQ(crashes, 1);
  EXPECT_EQ(starts, 2);
  const Output drawn = server_.cli({"timeline", "--from", "1h"});
  EXPECT_EQ(drawn.exit_code, 0) << drawn.err;
  for (const char* part : {"✖", "the first", "the second", "░", "▒", "█"}) {
    EXPECT_NE(drawn.out.find(part), std::string::npos) << part << "\n" << drawn.out;
  }
}

}  // namespace
}  // namespace signalbox
