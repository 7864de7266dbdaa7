// Runners over kills and pauses, theirs and the service's: each job is executed once an attempt,
// and nothing that has ended is lost.
#include <csignal>

#include "tests/scenarios/runner_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

using Words = std::vector<std::string>;

TEST_F(RunnerTest, AKilledRunnerFollowsItsJobsWhenItIsBack) {  // N5
  RunnerProcess& runner = start_runner("one", {"--labels", "gpu"});
  const std::string id = start_run(counted());
  ASSERT_TRUE(eventually([&] { return executions() == 1; })) << runner.log();
  runner.kill();
  runner.start();
  let_go();
  expect_success(id);
  EXPECT_EQ(executions(), 1U);
}

TEST_F(RunnerTest, AJobThatEndsWhileTheServiceIsAwayIsReportedLater) {  // N5
  RunnerProcess& runner = start_runner("one", {"--labels", "gpu"});
  const std::string id = start_run(counted());
  ASSERT_TRUE(eventually([&] { return executions() == 1; })) << runner.log();
  server_.kill();
  let_go();
  const fs::path result = scratch_.path() / "one" / "jobs" / (id + "-a-1") / "result.json";
  ASSERT_TRUE(eventually([&] { return fs::exists(result); }));
  server_.start();
  expect_success(id);
  EXPECT_EQ(executions(), 1U);
}

TEST_F(RunnerTest, AJobOutlivesTheServiceAndItsRunner) {  // N5
  RunnerProcess& runner = start_runner("one", {"--labels", "gpu"});
  const std::string id = start_run(counted());
  ASSERT_TRUE(eventually([&] { return executions() == 1; })) << runner.log();
  server_.kill();
  runner.kill();
  let_go();
  server_.start();
  runner.start();
  expect_success(id);
  EXPECT_EQ(executions(), 1U);
}

TEST_F(RunnerTest, ALateResultOfALostRunnerChangesNothing) {  // N5
  RunnerProcess& runner = start_runner("one", {"--labels", "gpu"}, "5s");
  const std::string id = start_run(counted(), "\"gpu\"", quick_retry);
  ASSERT_TRUE(eventually([&] { return executions() == 1; })) << runner.log();
  runner.send(SIGSTOP);
  ASSERT_TRUE(eventually([&] { return !id_of("one", "lost").empty(); }));
  ASSERT_TRUE(eventually([&] { return why(id).find("no_runner") != std::string::npos; }))
      << why(id);
  EXPECT_NE(why(id).find("which doesn't report"), std::string::npos) << why(id);
  let_go();  // its job ends while it is stopped
  runner.send(SIGCONT);
  expect_success(id);
  expect_each_once();
  EXPECT_EQ(executions(), 2U);
  EXPECT_NE(events_of(id).find("code=JOB_LOST"), std::string::npos) << events_of(id);
  ASSERT_TRUE(runner.logs("has ended the job's attempt before")) << runner.log();
}

// Whether it had ended when its runner came back, or is ended then.
TEST_F(RunnerTest, WhatTheJobOfALostRunnerHasUsedUpCounts) {  // A5, N5
  const std::string declared =
      R"(echo '{"outcome":"succeeded","usage":{"cost_microusd":1000,"tokens":10,"turns":1}}')"
      R"( > "$SIGNALBOX_ARTIFACTS_DIR/result.new"; )"
      R"(mv "$SIGNALBOX_ARTIFACTS_DIR/result.new" "$SIGNALBOX_ARTIFACTS_DIR/result.json"; )";
  RunnerProcess& runner = start_runner("one", {"--labels", "gpu"}, "5s");
  const std::string id = start_run(declared + counted(), "\"gpu\"", quick_retry);
  ASSERT_TRUE(eventually([&] { return executions() == 1; })) << runner.log();
  runner.send(SIGSTOP);
  ASSERT_TRUE(eventually([&] { return !id_of("one", "lost").empty(); }));
  ASSERT_TRUE(eventually([&] { return why(id).find("no_runner") != std::string::npos; }));
  runner.send(SIGCONT);
  ASSERT_TRUE(eventually([&] { return executions() == 2; })) << runner.log();
  let_go();
  expect_success(id);
  const auto used = [&] { return detail(id).at("run").at("used").at("tokens").to_number<int>(); };
  EXPECT_TRUE(eventually([&] { return used() == 20; })) << events_of(id) << runner.log();
  EXPECT_NE(events_of(id).find("LateUsageReported"), std::string::npos) << events_of(id);
  ASSERT_TRUE(runner.logs("-a-1 has used up is recorded")) << runner.log();
}

TEST_F(RunnerTest, ANewAttemptBeginsOnlyAfterTheOldOnesJobHasEndedThere) {  // N5
  RunnerProcess& runner = start_runner("one", {"--labels", "gpu"}, "5s");
  const std::string id = start_run(
      R"(echo begin >> "$D/order"; trap 'sleep 0.1; echo end >> "$D/order"; exit 1' TERM; )"
      R"([ "$SIGNALBOX_ATTEMPT" = 2 ] || while [ -d "$D" ] && [ ! -e "$D/go" ]; do )"
      R"(sleep 0.02; done)",
      "\"gpu\"", quick_retry, "30s");
  ASSERT_TRUE(eventually([&] { return fs::exists(at("order")); })) << runner.log();
  runner.send(SIGSTOP);
  ASSERT_TRUE(eventually([&] { return !id_of("one", "lost").empty(); }));
  ASSERT_TRUE(eventually([&] { return why(id).find("no_runner") != std::string::npos; }));
  runner.send(SIGCONT);
  expect_success(id);
  EXPECT_EQ(lines_of(at("order")), (Words{"begin", "end", "begin"}));
}

TEST_F(RunnerTest, OneThatIsEvictedEndsAndItsRunsGoOnElsewhere) {  // N3, N5
  RunnerProcess& gone = start_runner("one", {"--labels", "gpu"});
  const std::string id = start_run(counted(), "\"gpu\"", quick_retry);
  ASSERT_TRUE(eventually([&] { return executions() == 1; }));
  start_runner("two", {"--labels", "gpu"});
  (void)result({"runner", "evict", id_of("one")});
  EXPECT_NE(gone.wait(), 0);
  EXPECT_TRUE(gone.logs("was evicted")) << gone.log();
  ASSERT_TRUE(eventually([&] { return executions() == 2; })) << why(id);
  let_go();
  expect_success(id);
  expect_each_once();
}

TEST_F(RunnerTest, ATermSignalEndsItAndNotItsJobs) {  // N5
  RunnerProcess& runner = start_runner("one", {"--labels", "gpu"});
  const std::string id = start_run(counted());
  ASSERT_TRUE(eventually([&] { return executions() == 1; }));
  runner.send(SIGTERM);
  EXPECT_EQ(runner.wait(), 0) << runner.log();
  let_go();
  runner.start();
  expect_success(id);
  EXPECT_EQ(executions(), 1U);
}

}  // namespace
}  // namespace signalbox
