// Deep work when the server or the station's own worker is killed.
#include "tests/scenarios/deep_work_fixture.h"

namespace signalbox {
namespace {

// Each step records its beginning and its worker's pid, and then waits for a file with its name.
constexpr const char* waiting_step =
    "echo $SIGNALBOX_STEP_ID >> $DIR/begun\n"
    "echo $PPID > $DIR/worker\n"
    "sleep 300 & echo $! > $DIR/child-$SIGNALBOX_STEP_ID\n"
    "while [ ! -e $DIR/go-$SIGNALBOX_STEP_ID ]; do sleep 0.02; done\n"
    "kill $!\n";

class DeepWorkCrashTest : public DeepWorkTest {
 protected:
  [[nodiscard]] std::string start_waiting() const {
    return start_deep(plan(step("a") + "," + step("b", "a")) + phase("step", waiting_step));
  }
  [[nodiscard]] bool begins(const std::string& lines) const {
    return eventually([&] { return said("begun") == lines; });
  }
};

TEST_F(DeepWorkCrashTest, AServerThatIsKilledInAStepLosesNothing) {  // D7
  const std::string run = start_waiting();
  make("go-a");
  ASSERT_TRUE(begins("a\nb\n"));
  server_.kill();
  make("go-b");  // it completes while no server can be told
  const pid_t worker = pid_in("worker");
  ASSERT_TRUE(eventually([&] { return !is_alive(pid_in("child-b")); }));
  EXPECT_TRUE(is_alive(worker)) << "it waits for the server";
  server_.start();
  ASSERT_TRUE(ends_as(run, "succeeded"));
  EXPECT_EQ(said("begun"), "a\nb\n") << "no step was done twice";
  EXPECT_EQ(count(run, "StepCompleted b"), 1U);
}

TEST_F(DeepWorkCrashTest, AServerThatIsKilledManyTimesHasEachStepDoneOnce) {  // S6, D7
  const std::string run =
      start_deep(plan(step("a") + "," + step("b", "a") + "," + step("c", "b") + "," +
                      step("d", "c") + "," + step("e", "d")) +
                 phase("step", "echo $SIGNALBOX_STEP_ID >> $DIR/begun; sleep 0.05"));
  for (int kills = 0; kills < 6; ++kills) {
    ASSERT_TRUE(eventually(
        [&] { return static_cast<int>(said("begun").size()) >= 2 * std::min(kills, 5); }));
    server_.kill();
    server_.start();
  }
  ASSERT_TRUE(ends_as(run, "succeeded"));
  EXPECT_EQ(said("begun"), "a\nb\nc\nd\ne\n");
}

TEST_F(DeepWorkCrashTest, AWorkerThatIsKilledLeavesWhatIsCompleted) {  // D7
  const std::string run = start_waiting();
  make("go-a");
  ASSERT_TRUE(begins("a\nb\n"));
  const pid_t worker = pid_in("worker");
  const pid_t child = pid_in("child-b");
  ASSERT_EQ(::kill(worker, SIGKILL), 0);
  ASSERT_TRUE(begins("a\nb\nb\n"));
  EXPECT_FALSE(is_alive(child)) << "the first attempt's processes are gone before the second";
  make("go-b");
  ASSERT_TRUE(ends_as(run, "succeeded"));
  EXPECT_EQ(count(run, "StepAttemptFailed b"), 1U);
  EXPECT_EQ(count(run, "StepCompleted a"), 1U);
}

TEST_F(DeepWorkCrashTest, AnOutsideWorkersStepOutlivesServerAndStation) {  // D7
  const std::string run = start_deep("");
  const auto next = result({"step", "next", "--worker", "ann", "--run", run, "--wait-ms", "20000",
                            "--lease-ms", "60000"});
  const std::string token = token_of(next.at("step").as_object());
  server_.kill();
  server_.start();
  result({"step", "complete", run, "explore", "--token", token});
  EXPECT_EQ(count(run, "StepCompleted explore"), 1U);
}

TEST_F(DeepWorkCrashTest, AnOutsideWorkerThatSaysNothingLosesItsStep) {
  const std::string run = start_deep("step_timeout = \"1s\"");
  const auto claim_step = [&](const std::string& worker, const std::string& lease_ms) {
    const auto next = result({"step", "next", "--worker", worker, "--run", run, "--wait-ms",
                              "20000", "--lease-ms", lease_ms});
    return next.at("step").is_object() ? next.at("step").as_object() : boost::json::object{};
  };
  const auto first = claim_step("ann", "100");
  ASSERT_TRUE(first.contains("token"));
  const auto second = claim_step("bob", "60000");  // waits until the first one's lease is over
  ASSERT_EQ(second.at("attempt"), 2);
  EXPECT_EQ(second.at("strategy"), "original") << "a lost one is tried the same way again";
  EXPECT_NE(text(second, "previous_error").find("LEASE_EXPIRED"), std::string::npos);
  const auto third = claim_step("eve", "60000");  // waits until the second one took too long
  ASSERT_EQ(third.at("attempt"), 3);
  EXPECT_NE(text(third, "previous_error").find("TIMEOUT"), std::string::npos);
  for (const auto& old : {first, second}) {
    const Output late = server_.cli({"step", "complete", run, "explore", "--token", token_of(old)});
    EXPECT_EQ(late.exit_code, 1);
    EXPECT_NE(late.err.find("STALE_TOKEN"), std::string::npos) << late.err;
  }
}

TEST_F(DeepWorkCrashTest, AStepThatIsAskedForAgainIsTheSameOne) {
  const std::string run = start_deep("");
  const std::vector<std::string> words = {"step", "next",      "--worker", "ann",          "--run",
                                          run,    "--wait-ms", "20000",    "--command-id", "mine"};
  const auto first = result(words);
  server_.kill();
  server_.start();
  auto again = result(words);
  EXPECT_TRUE(again.at("replayed").as_bool());
  EXPECT_EQ(again.at("step"), first.at("step"));
}

}  // namespace
}  // namespace signalbox
