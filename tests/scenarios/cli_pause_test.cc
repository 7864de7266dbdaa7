// `signalbox pause --all`, `resume --all` and `drain`, of the whole service.
#include "tests/scenarios/lock_fixture.h"

namespace signalbox {
namespace {

namespace json = boost::json;

constexpr const char* paused_job_pipeline = R"(
name = "job"
[[station]]
name = "work"
executor = "process"
command = ["true"]
)";

using ServicePauseCliTest = CliTest;

TEST_F(ServicePauseCliTest, NothingBeginsUntilItIsResumed) {  // O2
  const json::object paused = result({"pause", "--all", "--reason", "an upgrade"});
  EXPECT_EQ(paused.at("changed"), true);
  EXPECT_EQ(result({"pause", "--all"}).at("changed"), false);
  const std::string run_id = start_run_of(paused_job_pipeline, "wait for me");
  const Output why = server_.cli({"run", "why", run_id});
  EXPECT_NE(why.out.find("paused the service: an upgrade"), std::string::npos) << why.out;
  EXPECT_NE(why.out.find("signalbox resume --all"), std::string::npos) << why.out;
  for (const char* command : {"status", "board", "inbox"}) {
    const Output shown = server_.cli({command});
    EXPECT_NE(shown.out.find("paused"), std::string::npos) << command << "\n" << shown.out;
    EXPECT_NE(shown.out.find("an upgrade"), std::string::npos) << command << "\n" << shown.out;
  }
  const Output ticked = server_.cli({"loop", "trigger", "heartbeat"});
  EXPECT_NE(ticked.out.find("It starts nothing: paused"), std::string::npos) << ticked.out;
  const Output loops = server_.cli({"loop", "list"});
  EXPECT_NE(loops.out.find("nothing: service paused"), std::string::npos) << loops.out;
  EXPECT_EQ(server_.cli({"drain"}).exit_code, 0);
  EXPECT_TRUE(events(run_id, "StationClaimed").empty());

  const Output resumed = paste("signalbox resume --all");
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(resumed.out, "resumed\n");
  await_status(run_id, "succeeded");
}

TEST_F(ServicePauseCliTest, OutlastsAKillOfTheServer) {  // O2
  result({"pause", "--all", "--reason", "an upgrade"});
  const std::string run_id = start_run_of(paused_job_pipeline, "wait for me");
  server_.kill();
  server_.start();
  EXPECT_EQ(text(rpc("server.status", {}).at("paused").as_object(), "reason"), "an upgrade");
  EXPECT_TRUE(events(run_id, "StationClaimed").empty());
  result({"resume", "--all"});
  await_status(run_id, "succeeded");
}

TEST_F(ServicePauseCliTest, AWorkerLearnsWhyNothingIsReady) {  // O2
  const std::string run_id = start_run("a parser");
  result({"pause", "--all", "--reason", "an upgrade"});
  const Output none = server_.cli({"station", "claim", "--worker", "ann"});
  EXPECT_NE(none.out.find("an upgrade"), std::string::npos) << none.out;
  EXPECT_NE(none.out.find("signalbox resume --all"), std::string::npos) << none.out;

  BackgroundCommand waiting({SIGNALBOX_BINARY, "station", "claim", "--worker", "ann", "--wait-ms",
                             "60000", "--data", server_.data().string()},
                            scratch_.path() / "claim");
  ASSERT_TRUE(eventually([&] { return waiting.err().find("an upgrade") != std::string::npos; }))
      << waiting.err();
  result({"resume", "--all"});
  EXPECT_EQ(waiting.wait(), 0) << waiting.err();
  EXPECT_NE(waiting.out().find(run_id), std::string::npos) << waiting.out();
}

// Why it waits is asked for without the command's id, which stays that of the claim that waited.
TEST_F(ServicePauseCliTest, AClaimThatWaitedIsTheSameWhenItIsRepeated) {  // P3
  const std::string run_id = start_run("a parser");
  result({"pause", "--all", "--reason", "an upgrade"});
  const std::vector<std::string> words{"station",   "claim", "--worker",     "ann",
                                       "--wait-ms", "60000", "--command-id", "c1"};
  std::vector<std::string> command{SIGNALBOX_BINARY};
  command.insert(command.end(), words.begin(), words.end());
  command.insert(command.end(), {"--data", server_.data().string(), "--json"});
  BackgroundCommand waiting(command, scratch_.path() / "claim");
  ASSERT_TRUE(eventually([&] {
    return waiting.err().find("no station begins until: signalbox --data " +
                              server_.data().string() + " resume --all") != std::string::npos;
  })) << waiting.err();
  result({"resume", "--all"});
  ASSERT_EQ(waiting.wait(), 0) << waiting.err();
  EXPECT_NE(waiting.out().find(run_id), std::string::npos) << waiting.out();

  const json::object again = result(words);
  EXPECT_TRUE(again.at("replayed").as_bool());
  EXPECT_EQ(text(again.at("claim").as_object(), "run_id"), run_id);
}

TEST_F(ServicePauseCliTest, DrainWaitsForWhatIsInFlight) {  // O2
  const std::string run_id = start_run("a parser");
  const std::string token = claim(run_id);
  const Output listed = server_.cli({"drain", "--reason", "a reboot"});
  EXPECT_EQ(listed.exit_code, 75) << listed.err;
  EXPECT_NE(listed.out.find("1 attempt is in flight"), std::string::npos) << listed.out;
  EXPECT_NE(listed.out.find("a parser"), std::string::npos) << listed.out;
  const Output gave_up = server_.cli({"drain", "--wait-ms", "1", "--json"});
  EXPECT_EQ(gave_up.exit_code, 75);
  EXPECT_EQ(code_of(gave_up), "STILL_IN_FLIGHT");

  BackgroundCommand waiting(
      {SIGNALBOX_BINARY, "drain", "--wait", "--data", server_.data().string()},
      scratch_.path() / "drain");
  ASSERT_TRUE(eventually([&] {
    return waiting.err().find("1 attempt is in flight") != std::string::npos;
  })) << waiting.err();
  EXPECT_EQ(complete(run_id, "plan", token, "succeeded").exit_code, 0);
  EXPECT_EQ(waiting.wait(), 0) << waiting.err();
  EXPECT_NE(waiting.out().find("nothing is in flight"), std::string::npos) << waiting.out();
}

// An attempt that waits for a person would be waited for without end.
TEST_F(ServicePauseCliTest, DrainSaysWhatAnAttemptCantEndWithout) {  // O2
  const std::string run_id = start_run("a parser");
  const std::string token = claim(run_id);
  const Output works = server_.cli({"drain", "--wait-ms", "0"});
  EXPECT_EQ(works.exit_code, 75) << works.err;
  EXPECT_NE(works.err.find("a parser (plan) needs station.complete by its worker"),
            std::string::npos)
      << works.err;
  result({"station", "request-approval", "--run", run_id, "--station", "plan", "--token", token,
          "--question", "may I?"});
  for (const bool waits : {false, true}) {
    std::vector<std::string> words{"drain"};
    if (waits) words.insert(words.end(), {"--wait-ms", "0"});
    const Output drained = server_.cli(words);
    EXPECT_EQ(drained.exit_code, 75) << drained.err;
    const std::string& said = waits ? drained.err : drained.out;
    EXPECT_NE(said.find("run.resume with a decision, by an operator"), std::string::npos) << said;
    EXPECT_NE(said.find("signalbox run resume " + run_id), std::string::npos) << said;
  }
  EXPECT_EQ(complete(run_id, "plan", token, "succeeded").exit_code, 0);
  EXPECT_EQ(server_.cli({"drain", "--wait-ms", "0"}).exit_code, 0) << "its result is held";
}

// A server that answers nothing doesn't prolong it without end.
TEST_F(ServicePauseCliTest, DrainGivesUpOnAServerThatHangs) {  // O2
  ::kill(server_.pid(), SIGSTOP);
  const Output drained = server_.cli({"drain", "--wait-ms", "0"});
  ::kill(server_.pid(), SIGCONT);
  EXPECT_EQ(drained.exit_code, 69) << drained.err;
  EXPECT_NE(drained.err.find("TIMED_OUT"), std::string::npos) << drained.err;
}

TEST_F(ServicePauseCliTest, DrainEndsIfSomebodyResumes) {  // O2
  claim(start_run("a parser"));
  BackgroundCommand waiting(
      {SIGNALBOX_BINARY, "drain", "--wait", "--data", server_.data().string()},
      scratch_.path() / "drain");
  ASSERT_TRUE(eventually([&] {
    return waiting.err().find("1 attempt is in flight") != std::string::npos;
  })) << waiting.err();
  result({"resume", "--all"});
  EXPECT_EQ(waiting.wait(), 75) << waiting.err();
  EXPECT_NE(waiting.err().find("the service was resumed meanwhile"), std::string::npos)
      << waiting.err();
}

TEST_F(ServicePauseCliTest, TheWholeServiceIsPausedOnlyIfThatIsSaid) {  // O2
  for (const char* verb : {"pause", "resume"}) {
    const Output refused = server_.cli({verb, "--reason", "an upgrade"});
    EXPECT_EQ(refused.exit_code, 2) << verb;
    EXPECT_TRUE(rpc("server.status", {}).at("paused").is_null() || verb[0] == 'r');
    const std::size_t tried = refused.err.find("try: ");
    ASSERT_NE(tried, std::string::npos) << refused.err;
    const std::string next =
        refused.err.substr(tried + 5, refused.err.find('\n', tried) - tried - 5);
    EXPECT_EQ(paste(next).exit_code, 0) << next;
  }
  const json::array paused =
      rpc("events.read", {{"types", json::array{"ServicePaused", "ServiceResumed"}}})
          .at("events")
          .as_array();
  ASSERT_EQ(paused.size(), 2U);
  for (const json::value& event : paused) {
    EXPECT_EQ(event.at("data").at("reason"), "an upgrade") << "what was typed is kept";
  }
}

}  // namespace
}  // namespace signalbox
