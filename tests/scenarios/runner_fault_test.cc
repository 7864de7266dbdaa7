// Runners when something is wrong: a disk, an artifact, the service for too long, a copied
// directory.
#include <csignal>
#include <regex>

#include "tests/scenarios/runner_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

using Words = std::vector<std::string>;

TEST_F(RunnerTest, ARetriedRunGoesBackToItsWorkspace) {  // N3
  start_runner("one", {"--labels", "gpu"});
  const std::string id = start_run("[ -e kept ] && exit 0; touch kept; exit 3", "\"gpu\"",
                                   "[station.retry]\nmax_retries = 0\n");
  ASSERT_TRUE(eventually([&] { return status(id) == "failed"; }));
  (void)result({"run", "retry", id});
  expect_success(id);
  EXPECT_EQ(events_of(id).find("worker=signalbox"), std::string::npos) << events_of(id);
}

TEST_F(RunnerTest, AJobThatItCannotKeepFailsAndIsTriedAgain) {  // N5
  RunnerProcess& runner = start_runner("one", {"--labels", "gpu"});
  fs::rename(runner.work() / "taken", runner.work() / "away");
  write_text(runner.work() / "taken", "no directory");
  const std::string id =
      start_run("true", "\"gpu\"", "[station.retry]\nbackoff = \"500ms\"\nmax_retries = 20\n");
  ASSERT_TRUE(eventually([&] {
    return events_of(id).find("code=JOB_STORAGE") != std::string::npos;
  })) << runner.log();
  fs::remove(runner.work() / "taken");
  fs::rename(runner.work() / "away", runner.work() / "taken");
  expect_success(id);
  EXPECT_LT(lines_of(runner.work().string() + ".log").size(), 100U) << "it doesn't spin";
}

TEST_F(RunnerTest, AJobThatTakesAllConnectionsKeepsNoOtherFromTheService) {  // N1, P11
  start_runner("one", {"--labels", "gpu", "--slots", "2"});
  // It goes on until one isn't answered at once, and keeps those that are.
  write_text(at("take.py"), R"(import os, socket, sys, time
directory, kept, refused = sys.argv[1], [], b''
while not refused and len(kept) < 256:
    kept.append(socket.socket(socket.AF_UNIX))
    kept[-1].connect(os.environ['SIGNALBOX_SOCKET'])
    request = b'{"jsonrpc":"2.0","id":1,"method":"server.whoami","params":{}}\n'
    kept[-1].sendall(request)
    answer = kept[-1].makefile().readline()
    if '"error"' in answer: refused = answer
with open(directory + '/refused.new', 'w') as file: file.write('%d %s' % (len(kept), refused))
os.rename(directory + '/refused.new', directory + '/refused')
while not os.path.exists(directory + '/go'): time.sleep(0.02)
)");
  const std::string greedy = start_run(R"(python3 "$D/take.py" "$D")");
  ASSERT_TRUE(eventually([&] { return fs::exists(at("refused")); }));
  const std::string refused = content_of(at("refused"));
  EXPECT_NE(refused.find("OVERLOADED"), std::string::npos) << refused;
  EXPECT_NE(refused.find("relayed_of_job_max"), std::string::npos) << refused;
  const std::string binary = SIGNALBOX_BINARY;
  expect_success(start_run(binary + R"( run get "$SIGNALBOX_RUN_ID")"));
  let_go();
  expect_success(greedy);
}

TEST_F(RunnerTest, AResultWhoseArtifactIsGoneHoldsUpNoOther) {  // N4
  RunnerProcess& runner = start_runner("one", {"--labels", "gpu", "--slots", "2"});
  const std::string bad = start_run(counted() + R"(; echo x > "$SIGNALBOX_ARTIFACTS_DIR/bad.txt")",
                                    "\"gpu\"", "[station.retry]\nmax_retries = 0\n");
  const std::string good = start_run(counted());
  ASSERT_TRUE(eventually([&] { return executions() == 2; }));
  server_.kill();
  let_go();
  const auto has_ended = [&](const std::string& id) {
    return fs::exists(runner.work() / "jobs" / (id + "-a-1") / "result.json");
  };
  ASSERT_TRUE(eventually([&] { return has_ended(bad) && has_ended(good); }));
  // "x\n"
  const fs::path blob = runner.work() / "artifacts/sha256/73" /
                        "cb3858a687a8494ca3323053016282f3dad39d42cf62ca4e79dda2aac7d9ac";
  ASSERT_TRUE(eventually([&] { return fs::exists(blob); }));
  fs::remove(blob);
  server_.start();
  expect_success(good);
  ASSERT_TRUE(eventually([&] { return status(bad) == "failed"; })) << runner.log();
  EXPECT_NE(events_of(bad).find("RESULT_REFUSED"), std::string::npos) << events_of(bad);
}

// Nobody has canceled the run.
TEST_F(RunnerTest, AServiceThatIsAwayForTooLongFindsItsJobsEndedAndTriesThemAgain) {  // N5
  RunnerProcess& runner = start_runner("one", {"--labels", "gpu", "--offline-max", "1s"});
  const std::string id = start_run(counted(), "\"gpu\"", quick_retry);
  ASSERT_TRUE(eventually([&] { return executions() == 1; }));
  server_.kill();
  ASSERT_TRUE(runner.logs("--offline-max")) << runner.log();
  // `journalctl -p warning` shows it.
  const std::regex warning("Z warning: the service has been away for too long");
  EXPECT_TRUE(std::regex_search(runner.log(), warning)) << runner.log();
  let_go();
  server_.start();
  expect_success(id);
  expect_each_once();
}

// Else the run would be under way for ever, past its timeout, and nobody would know.
TEST_F(RunnerTest, AResultThatCannotBeSentNeedsAPersonUntilItIsThere) {  // N4, O1
  RunnerProcess& runner = start_runner("one", {"--labels", "gpu"});
  write_text(server_.data() / "uploads", "no directory");
  const std::string id = start_run(R"(seq 1 90000 > "$SIGNALBOX_ARTIFACTS_DIR/a.txt")");
  const auto inbox = [&] { return server_.cli({"inbox"}).out; };
  EXPECT_TRUE(eventually([&] {
    return inbox().find("its runner can't send its result") != std::string::npos;
  })) << inbox()
      << why(id) << runner.log();
  EXPECT_TRUE(runner.logs("Z warning: the result of job ")) << runner.log();
  EXPECT_EQ(status(id), "running");
  fs::remove(server_.data() / "uploads");
  expect_success(id);
  EXPECT_EQ(inbox().find("its runner can't send its result"), std::string::npos) << inbox();
}

TEST_F(RunnerTest, OneThatEndsGetsNoJobsMeanwhile) {  // N3
  RunnerProcess& ending = start_runner("one", {"--labels", "gpu"});
  start_runner("two", {"--labels", "gpu"});
  ending.send(SIGTERM);
  EXPECT_EQ(ending.wait(), 0) << ending.log();
  for (int run = 0; run < 3; ++run) expect_success(start_run("true"));
}

TEST_F(RunnerTest, WhatAnOperatorDecidedOutlivesTheService) {  // N3
  start_runner("one", {"--labels", "gpu"});
  RunnerProcess& two = start_runner("two", {"--labels", "gpu"});
  (void)result({"runner", "drain", id_of("one")});
  (void)result({"runner", "evict", id_of("two")});
  EXPECT_NE(two.wait(), 0);
  server_.kill();
  server_.start();
  ASSERT_TRUE(eventually([&] { return !id_of("one").empty(); }));
  EXPECT_FALSE(id_of("two", "evicted").empty());
  const std::string id = start_run("true");
  EXPECT_EQ(status(id), "queued");
  EXPECT_NE(why(id).find("take no new jobs"), std::string::npos) << why(id);
  (void)result({"runner", "drain", "--off", id_of("one")});
  expect_success(id);
}

TEST_F(RunnerTest, ACopyOfAWorkDirectoryIsAnotherRunner) {  // N5
  RunnerProcess& runner = start_runner("one", {"--labels", "gpu"});
  const std::string first = id_of("one");
  runner.send(SIGTERM);
  EXPECT_EQ(runner.wait(), 0);
  ASSERT_EQ(run_process({"cp", "-a", runner.work().string(), at("copy")}).exit_code, 0);
  RunnerProcess copy(at("copy"), {"--data", server_.data().string()},
                     {"--name", "one", "--labels", "gpu"});
  copy.start();
  ASSERT_TRUE(eventually([&] {
    const std::string now = id_of("one");
    return !now.empty() && now != first;
  })) << copy.log();
}

TEST_F(RunnerTest, AnEvictedRunnerHasToBeOne) {  // N3
  const Output output = server_.cli({"runner", "evict", "runner:nobody-0123456789abcdef"});
  EXPECT_EQ(output.exit_code, 1) << output.out;
  EXPECT_NE(output.err.find("RUNNER_NOT_FOUND"), std::string::npos) << output.err;
}

// The runner works on for the service that had the log before.
TEST_F(RunnerTest, ACopiedLogBeginsItsJobAgainByAPersonsWordOnly) {  // G11
  start_runner("one", {"--labels", "gpu"});
  const std::string id = start_run(counted(), "\"gpu\"", quick_retry);
  ASSERT_TRUE(eventually([&] { return executions() == 1; }));
  const std::string one = id_of("one");
  server_.kill();
  RealServer other;
  fs::create_directories(other.data());
  for (const char* part : {"log", "anchor"}) {
    fs::copy(server_.data() / part, other.data() / part, fs::copy_options::recursive);
  }
  other.start();
  RunnerProcess two(at("two"), {"--data", other.data().string()},
                    {"--name", "two", "--labels", "gpu"});
  two.start();
  EXPECT_TRUE(eventually([&] {
    const std::string why = other.cli({"run", "why", id}).out;
    return why.find("may work for the service that had the log before") != std::string::npos;
  })) << other.cli({"run", "why", id}).out;
  EXPECT_EQ(executions(), 1U);
  EXPECT_EQ(other.cli({"runner", "evict", one}).exit_code, 0);
  EXPECT_TRUE(eventually([&] { return executions() == 2; })) << two.log();
}

// As at the service itself (tampered_job_test.cc).
TEST_F(RunnerTest, AJobThatDamagesItsOwnDirectoryOrStopsItsSupervisorEnds) {  // P11, N5, S11
  start_runner("one", {"--labels", "gpu"});
  const std::string here = "cd \"$SIGNALBOX_ARTIFACTS_DIR/..\"; ";
  const std::string once = "[station.retry]\nmax_retries = 0\n";
  expect_success(start_run(here + "ln -sf /dev/null stdout.log", "\"gpu\"", once));
  const std::string lost = start_run(
      here + "echo garbage > result.json; kill -9 $PPID; exec sleep 500", "\"gpu\"", once);
  ASSERT_TRUE(eventually([&] { return status(lost) == "failed"; })) << events_of(lost);
  EXPECT_NE(events_of(lost).find("JOB_LOST"), std::string::npos) << events_of(lost);
  const std::string stopped =
      start_run("kill -STOP $PPID; : > \"$D/stopped\"; exec sleep 500", "\"gpu\"", once);
  ASSERT_TRUE(eventually([&] { return fs::exists(at("stopped")); }));
  (void)result({"run", "cancel", stopped});
  EXPECT_TRUE(eventually([&] { return status(stopped) == "canceled"; })) << events_of(stopped);
  EXPECT_NE(events_of(stopped).find("CancelConfirmed"), std::string::npos) << events_of(stopped);
}

}  // namespace
}  // namespace signalbox
