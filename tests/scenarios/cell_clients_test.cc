// What leads to a server of a cell that stands by: commands, jobs at runners and pushes find the
// one that takes commands, or say that they can't.
#include "tests/crash/connection.h"
#include "tests/fixtures/git_repository.h"
#include "tests/scenarios/cell_fixture.h"
#include "tests/scenarios/runner_fixture.h"

namespace signalbox {
namespace {

class CellClients : public CellTest {
 protected:
  void SetUp() override { start_both(); }
  // The server that stands by first.
  [[nodiscard]] std::vector<std::string> where() const {
    return {"--server", b_.address() + "," + a_.address()};
  }
  [[nodiscard]] std::string at(const std::string& name) const {
    return (scratch_.path() / name).string();
  }
};

TEST_F(CellClients, ACommandRunsUnderALockOfTheActiveServer) {  // K6, L7
  std::vector<std::string> words{SIGNALBOX_BINARY};
  for (std::string& word : where()) words.push_back(std::move(word));
  for (const char* word : {"lock", "exec", "deploy", "--", "touch"}) words.emplace_back(word);
  words.push_back(at("ran"));
  const Output ran = run_process(words);
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.err, "") << "it is released at its end";
  EXPECT_TRUE(std::filesystem::exists(at("ran")));
}

TEST_F(CellClients, AJobAtARunnerReportsToTheActiveServer) {  // K6, N5
  write_text(pipeline(),
             "name = \"p\"\nruns_on = [\"gpu\"]\n[[station]]\nname = \"work\"\nexecutor = "
             "\"process\"\nretry = { max_retries = 0 }\ncommand = [\"" SIGNALBOX_BINARY
             "\", \"station\", \"heartbeat\", \"--progress-digest\", \"one\"]\n");
  RunnerProcess runner(scratch_.path() / "r", where(),
                       {"--name", "r", "--labels", "gpu", "--lease", "10m"});
  runner.start();
  const std::string run_id = start_run("g", "one");
  EXPECT_TRUE(eventually([&] {
    const std::string status = status_of(run_id);
    return status == "succeeded" || status == "failed";
  }));
  EXPECT_EQ(status_of(run_id), "succeeded")
      << boost::json::serialize(a_.rpc("run.get", {{"run_id", run_id}}));
  runner.send(SIGTERM);
  EXPECT_EQ(runner.wait(), 0) << runner.log();
  const auto listed = a_.rpc("runner.list").at("runners").at(0);
  EXPECT_TRUE(listed.at("drains").as_bool()) << boost::json::serialize(listed);
}

TEST_F(CellClients, APushNeedsTheWordOfTheActiveServer) {  // K6, H9
  const std::filesystem::path repository = scratch_.path() / "repository";
  make_repository(repository, {{"file.txt", "one\n"}});
  write_text(pipeline(),
             "name = \"p\"\n[[station]]\nname = \"intake\"\nexecutor = \"builtin\"\n"
             "[[station]]\nname = \"work\"\n");
  const std::string run_id = std::string(
      result({"run", "start", "g", "--pipeline", pipeline(), "--repository", repository.string()})
          .at("run_id")
          .as_string());
  const auto workspace = a_.server().data() / "runs" / run_id / "workspace";
  const auto check = [&](const std::vector<std::string>& environment) {
    return run_process({"env", "-C", workspace.string(), SIGNALBOX_BINARY, "fence", "check"},
                       environment);
  };
  EXPECT_TRUE(eventually([&] {
    return a_.rpc("run.get", {{"run_id", run_id}}).at("run").at("station").as_string() == "work";
  }));
  EXPECT_EQ(check({}).exit_code, 0) << check({}).err;
  EXPECT_TRUE(eventually([&] { return a_.ask({"cell", "switch", "--to", "b"}).exit_code == 0; }));
  await_role(b_, "active");
  await_role(a_, "standby");
  const Output refused = check({});
  EXPECT_EQ(refused.exit_code, 75) << refused.err;
  EXPECT_NE(refused.err.find("stands by, and knows only how it was at"), std::string::npos)
      << refused.err;
  const Output allowed = check({"SIGNALBOX_SERVER=" + b_.address()});
  EXPECT_EQ(allowed.exit_code, 0) << allowed.err;
}

TEST_F(CellClients, ASubscriptionEndsWithItsTokenAlsoAtAStandby) {  // K6, G9
  std::optional<test::Connection> follower;
  boost::json::object subscribed;
  // On a slow machine, the token may have expired before it is used.
  for (int life_s = 2; !subscribed.contains("result"); life_s *= 2) {
    ASSERT_LE(life_s, 64) << boost::json::serialize(subscribed);
    const std::string name = "watch-" + std::to_string(life_s);
    const boost::json::object issued = a_.rpc(
        "access.issue", {{"name", name}, {"role", "viewer"}, {"expires_in_ms", life_s * 1000}});
    await_position(b_, position_of(a_));
    follower = test::Connection::open(b_.server().socket());
    ASSERT_TRUE(follower);
    const auto shown = follower->call("server.authenticate", {{"secret", issued.at("secret")}});
    if (!shown || !shown->contains("result")) continue;
    subscribed = follower->call("events.subscribe", {}).value_or(boost::json::object());
  }
  while (follower->message()) {
  }
  EXPECT_TRUE(follower->closed_by_server());
}

}  // namespace
}  // namespace signalbox
