// Jobs that the service executes itself, while the server is killed and restarted: a job is started
// once, adopted again after a restart, and canceled together with all of its descendants.
#include <gtest/gtest.h>

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/crash/server_test.h"
#include "tests/eventually.h"
#include "tests/fixtures/file_content.h"

namespace signalbox::test {
namespace {

namespace json = boost::json;

bool is_alive(const std::string& pid) { return ::kill(std::stoi(pid), 0) == 0; }

class RestartJobs : public ServerTest {
 protected:
  void SetUp() override { start(); }
  void TearDown() override {
    // Ends jobs that the test left running.
    std::ofstream(scratch_.path() / "go").put('\n');
  }

  // Starts a run with one station whose job is this script. $D is the test's directory.
  std::string start_job(const std::string& script) {
    const std::string whole = "D='" + scratch_.path().string() + "'\n" + script;
    return start_run({{"goal", "run a job"},
                      {"pipeline",
                       {{"name", "job"},
                        {"station",
                         {{{"name", "work"},
                           {"executor", "process"},
                           {"cancel_grace", "200ms"},
                           {"command", {"sh", "-c", whole}}}}}}}});
  }
  bool ends_as(const std::string& run_id, const char* status) {
    return eventually([&] { return run(run_id).at("status") == status; });
  }
};

// Appends a line per execution, then waits until the test creates `go`.
constexpr const char* waiting_job =
    "echo $$ >> \"$D/executions\"; while [ -d \"$D\" ] && [ ! -e \"$D/go\" ]; do sleep 0.02; done; "
    "echo the end > \"$SIGNALBOX_ARTIFACTS_DIR/note.txt\"";

TEST_F(RestartJobs, AJobThatEndsWhileTheServerIsDownIsTakenUp) {  // S6
  const auto executions = scratch_.path() / "executions";
  const std::string run_id = start_job(waiting_job);
  ASSERT_TRUE(eventually([&] { return lines_of(executions).size() == 1; }));
  const std::string pid = lines_of(executions).front();
  server_.kill();
  EXPECT_TRUE(is_alive(pid)) << "the job died with the server";
  std::ofstream(scratch_.path() / "go").put('\n');
  ASSERT_TRUE(eventually([&] { return !is_alive(pid); }));
  ASSERT_TRUE(server_.start()) << server_.log();
  EXPECT_TRUE(ends_as(run_id, "succeeded"));
  EXPECT_EQ(lines_of(executions).size(), 1U);
  EXPECT_EQ(count(run_id, "StationSubmitIntended"), 1U);
  const json::object note = call("run.artifact", {{"run_id", run_id}, {"name", "note.txt"}});
  EXPECT_EQ(note.at("content"), "the end\n");
}

TEST_F(RestartJobs, AJobThatOutlivesManyServersIsExecutedOnce) {  // S6
  const auto executions = scratch_.path() / "executions";
  const std::string run_id = start_job(waiting_job);
  ASSERT_TRUE(eventually([&] { return lines_of(executions).size() == 1; }));
  for (int restart = 0; restart < 5; ++restart) {
    server_.kill();
    ASSERT_TRUE(server_.start()) << server_.log();
  }
  EXPECT_EQ(run(run_id).at("status"), "running");
  std::ofstream(scratch_.path() / "go").put('\n');
  EXPECT_TRUE(ends_as(run_id, "succeeded"));
  EXPECT_EQ(lines_of(executions).size(), 1U);
  EXPECT_EQ(count(run_id, "StationSubmitIntended"), 1U);
  EXPECT_EQ(count(run_id, "StationClaimed"), 1U);
}

// A second server finds the directory taken, also while the first one can't answer.
TEST_F(RestartJobs, ASecondServerSubmitsNothingAgain) {  // S6
  const auto executions = scratch_.path() / "executions";
  const std::string run_id = start_job(waiting_job);
  ASSERT_TRUE(eventually([&] { return lines_of(executions).size() == 1; }));
  const auto serve_beside = [&] {
    return run_program({SIGNALBOX_BINARY, "serve", "--data", server_.data().string(), "--socket",
                        (scratch_.path() / "other.sock").string()});
  };
  EXPECT_EQ(serve_beside().end.exit_code, 75);
  ASSERT_EQ(::kill(server_.pid(), SIGSTOP), 0);
  EXPECT_EQ(serve_beside().end.exit_code, 75);
  ASSERT_EQ(::kill(server_.pid(), SIGCONT), 0);
  crash_and_start();
  EXPECT_EQ(serve_beside().end.exit_code, 75);
  EXPECT_EQ(run(run_id).at("status"), "running");
  std::ofstream(scratch_.path() / "go").put('\n');
  EXPECT_TRUE(ends_as(run_id, "succeeded"));
  EXPECT_EQ(lines_of(executions).size(), 1U);
  EXPECT_EQ(count(run_id, "StationSubmitIntended"), 1U);
}

TEST_F(RestartJobs, AJobIsExecutedOnceWhereverTheKillFalls) {  // S6
  const auto executions = scratch_.path() / "executions";
  std::vector<std::string> run_ids;
  for (int kill = 0; kill < 12; ++kill) {
    run_ids.push_back(start_job("echo $SIGNALBOX_RUN_ID >> \"$D/executions\""));
    std::this_thread::sleep_for(std::chrono::milliseconds(2 * kill));
    server_.kill();
    ASSERT_TRUE(server_.start()) << server_.log();
  }
  for (const std::string& run_id : run_ids) EXPECT_TRUE(ends_as(run_id, "succeeded")) << run_id;
  std::vector<std::string> executed = lines_of(executions);
  std::sort(executed.begin(), executed.end());
  std::sort(run_ids.begin(), run_ids.end());
  EXPECT_EQ(executed, run_ids);
}

// Child processes that ignore TERM, one of them in a session of its own; their ids are in `pids`.
constexpr const char* family =
    "export D; trap '' TERM; "
    "sh -c 'echo $$ >> \"$D/pids\"; while [ -d \"$D\" ]; do sleep 0.05; done' & "
    "setsid sh -c 'echo $$ >> \"$D/pids\"; while [ -d \"$D\" ]; do sleep 0.05; done' & "
    "echo $$ >> \"$D/pids\"; while [ -d \"$D\" ]; do sleep 0.05; done";

TEST_F(RestartJobs, CancelEndsTheWholeFamilyAndSaysSo) {  // S11
  const std::string run_id = start_job(family);
  const auto pids = scratch_.path() / "pids";
  ASSERT_TRUE(eventually([&] { return lines_of(pids).size() == 3; }));
  const json::object canceled = call("run.cancel", {{"run_id", run_id}, {"reason", "enough"}});
  EXPECT_EQ(canceled.at("status"), "running");
  EXPECT_TRUE(ends_as(run_id, "canceled"));
  EXPECT_EQ(count(run_id, "CancelConfirmed"), 1U);
  EXPECT_EQ(count(run_id, "CancelEscaped"), 0U);
  for (const std::string& pid : lines_of(pids)) EXPECT_FALSE(is_alive(pid)) << pid;
}

TEST_F(RestartJobs, ACancelSurvivesTheServer) {  // S11
  const auto pids = scratch_.path() / "pids";
  for (int kill = 0; kill < 4; ++kill) {
    std::filesystem::remove(pids);
    const std::string run_id = start_job(family);
    ASSERT_TRUE(eventually([&] { return lines_of(pids).size() == 3; }));
    EXPECT_EQ(call("run.cancel", {{"run_id", run_id}}).at("cancel_requested"), true);
    std::this_thread::sleep_for(std::chrono::milliseconds(80 * kill));
    server_.kill();
    ASSERT_TRUE(server_.start()) << server_.log();
    EXPECT_TRUE(ends_as(run_id, "canceled"));
    EXPECT_EQ(count(run_id, "CancelConfirmed"), 1U);
    EXPECT_EQ(count(run_id, "RunCancelRequested"), 1U);
    for (const std::string& pid : lines_of(pids)) EXPECT_FALSE(is_alive(pid)) << pid;
  }
}

TEST_F(RestartJobs, ACleanStopLeavesJobsAlone) {
  const auto executions = scratch_.path() / "executions";
  const std::string run_id = start_job(waiting_job);
  ASSERT_TRUE(eventually([&] { return lines_of(executions).size() == 1; }));
  EXPECT_EQ(server_.stop().exit_code, 0) << server_.log();
  EXPECT_TRUE(is_alive(lines_of(executions).front()));
  ASSERT_TRUE(server_.start()) << server_.log();
  std::ofstream(scratch_.path() / "go").put('\n');
  EXPECT_TRUE(ends_as(run_id, "succeeded"));
  EXPECT_EQ(lines_of(executions).size(), 1U);
}

}  // namespace
}  // namespace signalbox::test
