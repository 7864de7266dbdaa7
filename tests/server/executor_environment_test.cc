// Tests the environment of a job, and that JOBS.md documents all of it.
#include <algorithm>

#include "server/executors/process/job_environment.h"
#include "server/scheduler/station_jobs.h"
#include "tests/server/executor_fixture.h"

namespace signalbox {
namespace {

bool has(const std::vector<std::string>& entries, const std::string& entry) {
  return std::find(entries.begin(), entries.end(), entry) != entries.end();
}

class JobEnvironment : public ::testing::Test {
 protected:
  std::vector<std::string> of(const Job& job, const std::vector<std::string>& server) {
    return job_environment(job, "/data/jobs/j/artifacts", "/data/s.sock", server, "sbj_x").value();
  }
  Job job() {
    Job made;
    made.id = "j";
    made.run_id = *parse_uuid("0190163d-8694-739b-aea5-966c26f8ad91");
    made.span_id = *parse_uuid("1f0c7c3a-2b4d-4e5f-8a9b-0c1d2e3f4a5b");
    made.run_root = "/data/runs/r";
    made.definition.name = "plan";
    return made;
  }
};

TEST_F(JobEnvironment, JobsMdNamesEveryVariable) {
  const std::string text =
      content_of(std::filesystem::path(SIGNALBOX_SOURCE_DIR) / "server/executors/JOBS.md");
  Job allowed = job();
  allowed.definition = builtin_station(BuiltinStation::create_pr);
  allowed.definition.environment = {variable_of(JobAllowance::locks),
                                    variable_of(JobAllowance::ticks)};
  allowed.mocked = Mocked::agents;
  allowed.repository = "/repository";
  allowed.base_station = "intake";
  allowed.refuses_changed_checks = true;
  const auto entries = of(allowed, {"SIGNALBOX_ALLOW_LOCKS=0"});
  ASSERT_EQ(entries.size(), 25U);
  EXPECT_TRUE(has(entries, "SIGNALBOX_BASE_COMMIT=")) << "a station that judges knows it is needed";
  EXPECT_TRUE(has(entries, "SIGNALBOX_ALLOW_LOCKS=1"));
  EXPECT_TRUE(has(entries, "SIGNALBOX_MOCK=agents"));
  for (const std::string& entry : entries) {
    const std::string name = entry.substr(0, entry.find('='));
    EXPECT_NE(text.find("| `" + name + "` |"), std::string::npos) << name;
  }
}

// What the log says of the worktree reaches the stations that judge or publish by it.
TEST_F(JobEnvironment, StationsAreGivenTheCommitsOfTheStationThatMadeTheWorktree) {  // A7
  PipelineDefinition pipeline;
  pipeline.stations = {
      builtin_station(BuiltinStation::merge), {}, {}, builtin_station(BuiltinStation::push)};
  pipeline.stations[1].executor = ExecutorKind::checks;
  pipeline.stations[2].executor = ExecutorKind::checks;
  signalbox::Run run;
  run.id = job().run_id;
  run.repository = "/repository";
  run.attempt.emplace();
  const auto job_at = [&](std::uint32_t current) {
    run.current = current;
    run.pipeline = std::make_shared<const PipelineDefinition>(pipeline);
    Job made = job_of(run, "/data/runs");
    made.base_commit = "b";
    made.merge_commit = "m";
    return made;
  };
  EXPECT_EQ(job_at(0).base_station, "");
  EXPECT_EQ(job_at(1).base_station, "merge");
  EXPECT_TRUE(has(of(job_at(1), {}), "SIGNALBOX_BASE_COMMIT=b"));
  EXPECT_TRUE(has(of(job_at(3), {}), "SIGNALBOX_MERGE_COMMIT=m"));
  EXPECT_FALSE(has(of(job_at(3), {}), "SIGNALBOX_BASE_COMMIT=b"));
  pipeline.stations[2].executor = ExecutorKind::process;
  EXPECT_FALSE(has(of(job_at(3), {}), "SIGNALBOX_MERGE_COMMIT=m")) << "it may commit";
}

TEST_F(JobEnvironment, TheBranchHasTheRunsToken) {  // H6
  Job with_token = job();
  with_token.run_token = 71;
  const auto entries = of(with_token, {});
  EXPECT_TRUE(has(entries, "SIGNALBOX_RUN_TOKEN=71"));
  EXPECT_TRUE(has(entries, "SIGNALBOX_BRANCH=signalbox/0190163d-8694-739b-aea5-966c26f8ad91-71"));
}

// The start-up recognizes worktrees of merges by this name, and leaves them alone.
TEST_F(JobEnvironment, ARunThatMergesHasAWorkspaceOfAnotherName) {
  PipelineDefinition pipeline = default_pipeline();
  signalbox::Run run;
  run.id = job().run_id;
  run.pipeline = std::make_shared<const PipelineDefinition>(pipeline);
  const std::string root = "/data/runs/0190163d-8694-739b-aea5-966c26f8ad91";
  EXPECT_EQ(workspace_of(run, "/data/runs"), root + "/workspace");
  pipeline.stations.front().name = "merge";
  ASSERT_TRUE(validate(pipeline).has_value());
  run.pipeline = std::make_shared<const PipelineDefinition>(pipeline);
  EXPECT_EQ(workspace_of(run, "/data/runs"), root + "/merge-0190163d");
  pipeline.stations.front().executor = ExecutorKind::worker;
  run.pipeline = std::make_shared<const PipelineDefinition>(pipeline);
  run.run_root = "/elsewhere";
  EXPECT_EQ(workspace_of(run, "/data/runs"), "/elsewhere/workspace");
}

TEST_F(JobEnvironment, OnlyTheAllowListOfTheServersOwn) {
  const auto entries =
      of(job(), {"PATH=/bin", "LC_TIME=C", "AWS_SECRET=x", "SIGNALBOX_TOKEN=9", "LD_PRELOAD=y"});
  EXPECT_TRUE(has(entries, "PATH=/bin"));
  EXPECT_TRUE(has(entries, "LC_TIME=C"));
  EXPECT_TRUE(has(entries, "SIGNALBOX_TOKEN=0"));
  EXPECT_EQ(entries.size(), 22U);
}

TEST_F(JobEnvironment, NoAccessTokenOfTheServers) {  // G10
  const auto entries = of(job(), {"SIGNALBOX_ACCESS_TOKEN=sbx_x", "SIGNALBOX_SERVER=tcp://h:1"});
  for (const std::string& entry : entries) {
    EXPECT_FALSE(entry.starts_with("SIGNALBOX_ACCESS_TOKEN=")) << entry;
    EXPECT_FALSE(entry.starts_with("SIGNALBOX_SERVER=")) << entry;
  }
}

TEST_F(JobEnvironment, TraceparentIsRunAndSpan) {
  EXPECT_TRUE(
      has(of(job(), {}), "TRACEPARENT=00-0190163d8694739baea5966c26f8ad91-1f0c7c3a2b4d4e5f-01"));
}

TEST_F(JobEnvironment, NulInAGoalCutsNothingOff) {
  Job with_nul = job();
  with_nul.goal = std::string("a\0b", 3);
  EXPECT_TRUE(has(of(with_nul, {}),
                  "SIGNALBOX_GOAL=a\xEF\xBF\xBD"
                  "b"));
}

}  // namespace
}  // namespace signalbox
