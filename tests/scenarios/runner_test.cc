// Runners: programs that execute the jobs of a service, over its socket or TLS.
#include <regex>

#include "tests/fixtures/git_repository.h"
#include "tests/scenarios/runner_tls_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

namespace json = boost::json;

using Words = std::vector<std::string>;

TEST_F(RunnerTest, ExecutesWhatAsksForItsLabelsWithItsFilesAndArtifacts) {  // N1, N3, N4
  start_runner("one", {"--labels", "gpu,linux"});
  const std::string id = start_run(
      R"(echo kept > kept; head -c 3000000 /dev/zero > "$SIGNALBOX_ARTIFACTS_DIR/big.bin"; )"
      R"(: > "$SIGNALBOX_ARTIFACTS_DIR/empty.txt")",
      "\"gpu\"",
      "[[station]]\nname = \"b\"\nexecutor = \"process\"\ncommand = [\"cat\", \"kept\"]\n");
  expect_success(id);
  const std::string one = id_of("one");
  const std::string shown = json::serialize(detail(id));
  EXPECT_NE(shown.find("\"worker\":\"" + one + "\""), std::string::npos) << shown;
  EXPECT_NE(events_of(id).find("machine=" + one), std::string::npos);
  EXPECT_NE(shown.find("\"bytes\":3000000"), std::string::npos) << shown;
  EXPECT_NE(shown.find("empty.txt"), std::string::npos) << shown;
  EXPECT_TRUE(fs::is_directory(scratch_.path() / "one" / "runs" / id / "workspace"));
  EXPECT_FALSE(fs::exists(server_.data() / "jobs" / (id + "-a-1") / "shim.lock"));
}

TEST_F(RunnerTest, ItsLogIsWrittenAsThatOfTheServer) {  // O6
  const RunnerProcess& runner = start_runner("one");
  const std::regex line("(^|\n)[0-9-]{10}T[0-9:]{8}\\.[0-9]{3}Z info: registered as runner:one-");
  EXPECT_TRUE(eventually([&] { return std::regex_search(runner.log(), line); })) << runner.log();
}

TEST_F(RunnerTest, ARunWaitsForItsLabelsAndSaysSo) {  // N3
  start_runner("one", {"--labels", "linux"});
  const std::string id = start_run("true");
  const std::string text = why(id);
  EXPECT_NE(text.find("no_runner       no runner has the label gpu"), std::string::npos) << text;
  EXPECT_NE(text.find("signalbox runner list"), std::string::npos) << text;
  const std::string table = server_.cli({"runner", "list"}).out;  // O6: its header as all others
  EXPECT_TRUE(table.starts_with("runner ")) << table;
  start_runner("two", {"--labels", "gpu"});
  expect_success(id);
}

// Both sides are killed, the runner before its job has ended.
// The job of the lost attempt still works in the workspace when its runner is back.
TEST_F(RunnerTest, ACanceledJobEndsAtItsRunner) {  // N1
  start_runner("one", {"--labels", "gpu"});
  const std::string id = start_run(counted());
  ASSERT_TRUE(eventually([&] { return executions() == 1; }));
  (void)result({"run", "cancel", id});
  EXPECT_TRUE(eventually([&] { return status(id) == "canceled"; }));
  EXPECT_NE(events_of(id).find("CancelConfirmed"), std::string::npos) << events_of(id);
  EXPECT_TRUE(eventually([&] { return fs::is_empty(scratch_.path() / "one" / "taken"); }));
}

TEST_F(RunnerTest, AStationsTimeoutEndsItsJob) {  // N1
  start_runner("one", {"--labels", "gpu"});
  const std::string id =
      start_run("sleep 1000", "\"gpu\"", "timeout = \"300ms\"\n[station.retry]\nmax_retries = 0\n");
  EXPECT_TRUE(eventually([&] { return status(id) == "failed"; }));
  EXPECT_NE(events_of(id).find("TIMEOUT"), std::string::npos) << events_of(id);
}

TEST_F(RunnerTest, AJobUsesTheServiceAsItselfAndNothingElse) {  // N1, G10
  start_runner("one", {"--labels", "gpu"});
  const std::string other = start_run("true", "\"nobody\"");
  const std::string binary = SIGNALBOX_BINARY;
  const std::string id =
      start_run(binary + R"( run get "$SIGNALBOX_RUN_ID" > "$D/own.txt"; )" + binary +
                " run cancel " + other + R"( > "$D/other.txt" 2>&1; true)");
  expect_success(id);
  EXPECT_NE(content_of(at("own.txt")).find("running"), std::string::npos)
      << content_of(at("own.txt"));
  EXPECT_NE(content_of(at("other.txt")).find("FORBIDDEN"), std::string::npos)
      << content_of(at("other.txt"));
  EXPECT_EQ(status(other), "queued");
}

TEST_F(RunnerTest, OneThatIsDrainedFinishesItsJobsAndGetsNoOthers) {  // N3
  start_runner("one", {"--labels", "gpu"});
  const std::string first = start_run(counted());
  ASSERT_TRUE(eventually([&] { return executions() == 1; }));
  (void)result({"runner", "drain", id_of("one")});
  const std::string second = start_run("true");
  let_go();
  expect_success(first);
  EXPECT_EQ(status(second), "queued");
  (void)result({"runner", "drain", "--off", id_of("one")});
  expect_success(second);
}

TEST_F(RunnerTest, OnceItTakesOneJobAndEnds) {  // N3
  RunnerProcess& runner = start_runner("one", {"--labels", "gpu", "--once"});
  const std::string first = start_run(counted());
  const std::string second = start_run("true");
  let_go();
  EXPECT_EQ(runner.wait(), 0) << runner.log();
  expect_success(first);
  EXPECT_EQ(status(second), "queued");
}

TEST_F(RunnerTest, AWorkDirectoryHasOneRunner) {  // N3
  RunnerProcess& runner = start_runner("one", {"--labels", "gpu"});
  const Output second = run_process({SIGNALBOX_BINARY, "--data", server_.data().string(), "runner",
                                     "--work", runner.work().string()});
  EXPECT_EQ(second.exit_code, 75) << second.err;
  EXPECT_NE(second.err.find("IN_USE"), std::string::npos) << second.err;
}

TEST_F(RunnerTest, OddOptionsAreRefused) {  // N3
  const auto refused = [&](const Words& options) {
    Words words{SIGNALBOX_BINARY, "--data", server_.data().string(), "runner", "--work", at("w")};
    words.insert(words.end(), options.begin(), options.end());
    const Output output = run_process(words);
    EXPECT_EQ(output.exit_code, 2) << output.err;
    return output.err;
  };
  EXPECT_NE(refused({"--labels", "GPU"}).find("a label has"), std::string::npos);
  EXPECT_NE(refused({"--lease", "1s"}).find("--lease is a duration from 5s"), std::string::npos);
  EXPECT_NE(refused({"--name", "A B"}).find("--name is"), std::string::npos);
  EXPECT_NE(refused({"--repository", "here"}).find("--repository is PATH"), std::string::npos);
}

// The whole way of a change: the runner has a clone, and pushes to the remote.
TEST_F(RunnerTest, WorksInItsCloneOfTheRepositoryAndPushes) {  // N1, N3
  make_repository(at("there"),
                  {{"AGENTS.md", "# Site\n\n## Checks\n\n```\ntest -f new.txt\n```\n"}});
  run_git(scratch_.path(), {"clone", "-q", "--bare", at("there"), at("origin.git")});
  run_git(scratch_.path(), {"clone", "-q", at("origin.git"), at("here")});
  start_runner("one", {"--labels", "gpu", "--repository", at("there") + "=" + at("here")});
  const std::string file = at("change.toml");
  write_text(file, R"(name = "change"
runs_on = ["gpu"]
[[station]]
name = "intake"
executor = "builtin"
[[station]]
name = "implement"
executor = "coderunner"
coderunner = { mode = "mock" }
[[station]]
name = "more"
executor = "process"
command = ["sh", "-c", "echo new > new.txt"]
[[station]]
name = "verify"
executor = "checks"
[[station]]
name = "create_pr"
executor = "builtin"
remote = "origin"
)");
  const json::object started = result(
      {"run", "start", "work", "--pipeline", file, "--repository", at("there"), "--base", "main"});
  const std::string id(started.at("run_id").as_string());
  expect_success(id);
  EXPECT_NE(run_git(at("origin.git"), {"branch", "--list", "signalbox/*"}).find("signalbox/" + id),
            std::string::npos);
  EXPECT_NE(server_.cli({"run", "diff", id}).out.find("+new"), std::string::npos);
}

// Whatever ends with the runner is done elsewhere: none of it may go on here.
TEST_F(RunnerTest, AnEvictedRunnerEndsItsJobsFirst) {  // N3
  RunnerProcess& runner = start_runner("one", {"--labels", "gpu", "--slots", "12"});
  for (int number = 0; number < 12; ++number) {
    (void)start_run("trap 'echo x >> \"$D/ends\"; sleep 0.1; exit 1' TERM; " + counted(), "\"gpu\"",
                    "", "30s");
  }
  ASSERT_TRUE(eventually([&] { return executions() == 12; })) << runner.log();
  (void)result({"runner", "evict", id_of("one")});
  EXPECT_GT(runner.wait(), 0) << runner.log();
  EXPECT_EQ(lines_of(at("ends")).size(), 12U) << runner.log();
}

// Else nobody could tell what became of its jobs.
TEST_F(RunnerTest, IsKnownToAServiceThatWasRestoredFromABackup) {  // N3, O12
  start_runner("one", {"--labels", "gpu"});
  const std::string id = start_run(counted());
  ASSERT_TRUE(eventually([&] { return executions() == 1; }));
  const Output copied = server_.cli({"backup", at("copy")});
  ASSERT_EQ(copied.exit_code, 0) << copied.err;
  server_.kill();
  std::filesystem::rename(server_.data(), at("former"));
  std::filesystem::rename(at("copy"), server_.data());
  server_.start();
  let_go();
  expect_success(id);
  expect_each_once();
}

// It is a way to say that there was nothing to do.
TEST_F(RunnerTest, AJobThatSaysItIsCanceledIsNotLost) {  // N5
  start_runner("one", {"--labels", "gpu"});
  const std::string id = start_run(
      "echo x >> \"$D/executions\"; echo '{\"outcome\":\"canceled\",\"summary\":\"none\"}' "
      ">\"$SIGNALBOX_ARTIFACTS_DIR/result.json\"",
      "\"gpu\"", quick_retry);
  EXPECT_TRUE(eventually([&] { return status(id) == "canceled" || status(id) == "failed"; }));
  EXPECT_EQ(status(id), "canceled") << json::serialize(detail(id));
  EXPECT_EQ(executions(), 1U);
}

TEST_F(RunnerOverTls, ExecutesJobsWithATokenThatIsForNothingElse) {  // N1, N2, N3
  RunnerProcess runner(scratch_.path() / "one", where_, {"--name", "one", "--labels", "gpu"});
  runner.start();
  const std::string id =
      start_run(std::string(SIGNALBOX_BINARY) + R"( run get "$SIGNALBOX_RUN_ID")");
  expect_success(id);
  const std::string deep = at("deep.toml");
  write_text(deep, R"(name = "deep"
runs_on = ["gpu"]
[[station]]
name = "a"
executor = "deep_work"
[station.deep_work]
explore = { command = ["echo", '{"summary": "s", "files": []}'] }
plan = { command = ["echo", '{"steps": [{"id": "one", "type": "test", "description": "d"}]}'] }
step = { command = ["true"] }
)");
  const json::object dug = result({"run", "start", "dig", "--pipeline", deep});
  expect_success(std::string(dug.at("run_id").as_string()));
  for (const Words& words :
       {Words{"run", "list"}, Words{"runner", "list"}, Words{"run", "cancel", id},
        Words{"station", "claim", "--worker", "w"}}) {
    const Output refused = with_token(words);
    EXPECT_EQ(refused.exit_code, 77) << refused.out << refused.err;
    EXPECT_NE(refused.err.find("FORBIDDEN"), std::string::npos) << refused.err;
  }
  const Output stranger = with_token(
      {"rpc", "runner.runs", R"({"runner":")" + id_of("one") + R"(","key":"sbk_no","runs":[]})"});
  EXPECT_NE(stranger.err.find("FORBIDDEN"), std::string::npos) << stranger.err;
  write_text(at("token"), server_.cli({"access", "issue", "me", "--role", "worker"}).out);
  const Output worker = with_token({"rpc", "runner.register", R"({"name":"w"})"});
  EXPECT_NE(worker.err.find("FORBIDDEN"), std::string::npos) << worker.err;
}

// The first address is nobody's, and the token is replaced while a job runs.
TEST_F(RunnerOverTls, FindsTheServiceAndATokenThatWasReplaced) {  // N2, N3
  where_[1] = "tls://localhost:1," + address_;
  RunnerProcess runner(scratch_.path() / "one", where_, {"--name", "one", "--labels", "gpu"});
  runner.start();
  const std::string id = start_run(counted());
  ASSERT_TRUE(eventually([&] { return executions() == 1; })) << runner.log();
  const json::object listed = result({"access", "list"});
  const std::string old(listed.at("tokens").at(0).at("id").as_string());
  const std::string fresh = server_.cli({"access", "issue", "two", "--role", "runner"}).out;
  (void)result({"access", "revoke", old, "--reason", "rotation"});
  ASSERT_TRUE(runner.logs("revoked")) << runner.log();
  EXPECT_TRUE(runner.logs("; this runner goes on asking; try: signalbox access issue "))
      << runner.log();
  write_text(at("token"), fresh);
  let_go();
  expect_success(id);
  expect_each_once();
  EXPECT_EQ(executions(), 1U);
}

TEST_F(RunnerOverTls, AMissingVariableIsTheRunners) {  // N1
  RunnerProcess runner(scratch_.path() / "one", where_, {"--name", "one", "--labels", "gpu"});
  runner.start();
  const std::string id = start_run(
      "true", "\"gpu\"", "environment = [\"NOT_THERE\"]\n[station.retry]\nmax_retries = 0\n");
  ASSERT_TRUE(eventually([&] { return status(id) == "failed"; })) << runner.log();
  const std::string shown = json::serialize(detail(id));
  EXPECT_NE(shown.find("NOT_THERE, which the runner does not have"), std::string::npos) << shown;
}

}  // namespace
}  // namespace signalbox
