// What is said of a run that waits for a runner.
#include "server/runners/runner_wait.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/runners/runner_registry.h"

namespace signalbox {
namespace {

// What `run why` says of a run that asks for labels.
TEST(RunnerWaits, NameWhatIsMissing) {  // N3
  StationDefinition station;
  station.name = "a";
  station.executor = ExecutorKind::process;
  station.environment = {variable_of_label("gpu"), variable_of_label("linux")};
  signalbox::Run run;
  run.pipeline = std::make_shared<const PipelineDefinition>(PipelineDefinition{"p", {station}});
  run.stations.resize(1);
  std::vector<RunnerView> runners(2);
  const std::string one = runner_id("one", "0123456789abcdef");
  runners[0] = {one, RunnerState::connected, false, {"gpu"}, {}, 2, 60'000, 0, {}, {}};
  EXPECT_EQ(why_no_runner(run, runners).text, "no runner has the label linux");
  runners[1] = {"runner:two-1", RunnerState::connected, false, {"linux"}, {}, 2, 60'000, 0, {}, {}};
  EXPECT_EQ(why_no_runner(run, runners).text, "no runner has all of the labels gpu, linux");
  runners[1].labels.emplace_back("gpu");
  EXPECT_EQ(why_no_runner(run, runners).text, "all slots of the runners that suit it are taken");
  run.repository = "/srv/app";
  EXPECT_EQ(why_no_runner(run, runners).text,
            "no runner with the labels gpu, linux has the repository /srv/app");
  run.machine = one;
  EXPECT_EQ(why_no_runner(run, runners).text,
            "its workspace is at " + one + ", all of whose slots are taken");
  runners[0].drains = true;
  runners[1].drains = true;
  {
    signalbox::Run free = run;
    free.machine.clear();
    free.repository.clear();
    EXPECT_EQ(why_no_runner(free, runners).text,
              "the runners that suit it take no new jobs: runner:two-1");
    EXPECT_EQ(why_no_runner(free, runners).unblocked_by,
              "`signalbox runner drain --off runner:two-1`");
  }
  EXPECT_EQ(why_no_runner(run, runners).text,
            "its workspace is at " + one + ", which takes no new jobs");
  runners[0].state = RunnerState::lost;
  EXPECT_NE(why_no_runner(run, runners).unblocked_by.find("runner evict " + one),
            std::string::npos);
  runners[0].state = RunnerState::evicted;
  run.current = 1;
  run.stations.resize(2);
  run.pipeline =
      std::make_shared<const PipelineDefinition>(PipelineDefinition{"p", {station, station}});
  EXPECT_EQ(why_no_runner(run, runners).text, "its worktree was at " + one + ", which was evicted");
  run.machine = "0123";
  EXPECT_EQ(why_no_runner(run, runners).text, "") << "it stays with the service";
}

}  // namespace
}  // namespace signalbox
