// One action for many runs on the command line: shown and counted first, each with a command of its
// own.
#include "tests/scenarios/cli_fixture.h"

namespace signalbox {
namespace {

namespace json = boost::json;

class BulkTest : public CliTest {
 protected:
  std::string start_labelled(const std::string& goal, const std::string& team) const {
    return text(result({"run", "start", goal, "--pipeline", pipeline(), "--label", "team=" + team}),
                "run_id");
  }
  [[nodiscard]] std::string status_of(const std::string& run_id) const {
    return text(run(run_id), "status");
  }
};

TEST_F(BulkTest, TheRunsAreShownAndNothingIsChangedWithoutYes) {  // O2
  const std::string blue = start_labelled("first", "blue");
  start_labelled("second", "red");
  const Output shown = server_.cli({"run", "cancel", "--all", "--label", "team=blue", "--dry-run"});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_NE(shown.out.find("first"), std::string::npos) << shown.out;
  EXPECT_EQ(shown.out.find("second"), std::string::npos) << shown.out;
  EXPECT_NE(shown.out.find("1 run\n"), std::string::npos) << shown.out;

  const Output unasked = server_.cli({"run", "cancel", "--all", "--label", "team=blue"});
  EXPECT_EQ(unasked.exit_code, 2);
  EXPECT_NE(unasked.err.find("this would cancel 1 run; --yes"), std::string::npos) << unasked.err;
  EXPECT_EQ(status_of(blue), "queued");
}

TEST_F(BulkTest, ASecondBatchOfTheSameIdChangesNothingMore) {  // O2
  const std::string first = start_labelled("first", "blue");
  const std::string second = start_labelled("second", "blue");
  const json::object paused = result({"run", "pause", "--all", "--yes", "--batch", "lunch"});
  EXPECT_EQ(paused.at("done"), 2);
  EXPECT_EQ(paused.at("refused"), 0);
  EXPECT_EQ(status_of(first), "paused");
  EXPECT_EQ(events(first, "RunPaused").size(), 1U);
  EXPECT_EQ(events(first, "RunPaused").front().at("command_id"), json::value("lunch/" + first));

  const json::object resumed = result({"run", "resume", "--all", "--yes"});
  EXPECT_EQ(resumed.at("done"), 2);
  EXPECT_NE(status_of(second), "paused");
  // The same batch again is what it was: nothing is paused a second time.
  const json::object again = result({"run", "pause", "--all", "--yes", "--batch", "lunch"});
  EXPECT_EQ(again.at("done"), 2);
  EXPECT_EQ(events(first, "RunPaused").size(), 1U);
  EXPECT_EQ(events(second, "RunPaused").size(), 1U);
}

TEST_F(BulkTest, OneOfARunAndAllIsNamed) {  // O2
  EXPECT_EQ(server_.cli({"run", "cancel"}).exit_code, 2);
  const std::string run_id = start_run("one");
  EXPECT_EQ(server_.cli({"run", "cancel", run_id, "--all"}).exit_code, 2);
  EXPECT_EQ(server_.cli({"run", "cancel", run_id, "--dry-run"}).exit_code, 2);
  EXPECT_EQ(server_.cli({"run", "retry", "--all", "--status", "running", "--yes"}).exit_code, 2);
  EXPECT_EQ(status_of(run_id), "queued");
}

}  // namespace
}  // namespace signalbox
