// Deep work from exploration to result: by commands, by outside workers, and by default.

#include "domain/limits.h"
#include "server/platform/process_table.h"
#include "tests/scenarios/deep_work_fixture.h"

namespace signalbox {
namespace {

using Lines = std::vector<std::string>;

// Waits until no process of the run is left: each that these tests leave sleeps for far longer.
bool all_are_gone(const std::string& run) {
  return eventually([&] { return processes_with_environment("SIGNALBOX_RUN_ID=" + run).empty(); });
}

TEST_F(DeepWorkTest, ExploresPlansAndDoesItsStepsInOrder) {  // D1, D3, D6
  const std::string run = start_deep(
      phase("explore",
            R"(echo '{"summary": "a parser", "files": ["a.c", "b.c"], "findings": ["old"]}')") +
      "max_files = 1\n" + plan(step("b", "a") + "," + step("a")) +
      phase("step",
            "echo \"$SIGNALBOX_STEP_ID $SIGNALBOX_STEP_TYPE $SIGNALBOX_STEP_ATTEMPT "
            "$SIGNALBOX_STEP_STRATEGY $SIGNALBOX_STEP_DESCRIPTION\" >> $DIR/done\n"
            "grep -q a.c \"$SIGNALBOX_EXPLORATION_FILE\" && echo \"$SIGNALBOX_STEP_ID is done\""));
  ASSERT_TRUE(ends_as(run, "succeeded"));
  EXPECT_EQ(said("done"), "a implement 1 original do a\nb implement 1 original do b\n");
  EXPECT_EQ(deep_events(run),
            (Lines{"ExplorationFinished", "PlanSet", "StepAttemptStarted a", "StepCompleted a",
                   "StepAttemptStarted b", "StepCompleted b"}));
  const auto outcome = result_artifact(run);
  EXPECT_TRUE(outcome.at("success").as_bool());
  EXPECT_EQ(outcome.at("exploration").as_object().at("files").as_array().size(), 1U);
  EXPECT_EQ(outcome.at("todo_status").as_object().at("completed_steps"), 2);
  EXPECT_TRUE(outcome.at("todo_status").as_object().at("all_complete").as_bool());
  EXPECT_FALSE(outcome.contains("error"));
  EXPECT_GE(outcome.at("duration_ms").as_int64(), 0);
}

TEST_F(DeepWorkTest, ALongOutputIsReadToItsEnd) {  // D1, D6
  const std::string run = start_deep(
      phase("explore", R"(seq 1 300000; echo '{"summary": "a parser", "files": ["a.c"]}')") +
      plan(step("long") + "," + step("short")) +
      phase("step",
            "[ $SIGNALBOX_STEP_ID = long ] && seq 1 300000 || seq 1 2000\necho the conclusion"));
  ASSERT_TRUE(ends_as(run, "succeeded"));
  const auto outcome = result_artifact(run);
  EXPECT_EQ(outcome.at("exploration").as_object().at("summary"), "a parser");
  for (const auto& event : events_of(run)) {
    if (text(event, "type") != "StepCompleted") continue;
    const std::string summary = text(event.at("data").as_object(), "summary");
    EXPECT_TRUE(summary.starts_with("[cut: ")) << summary.substr(0, 100);
    EXPECT_TRUE(summary.ends_with("\nthe conclusion\n")) << summary;
    EXPECT_EQ(summary.size(), limits::summary_bytes_max);
  }
  EXPECT_EQ(count(run, "StepCompleted long") + count(run, "StepCompleted short"), 2U);
}

TEST_F(DeepWorkTest, OutsideWorkersDoTheStepsOfTheDefaultPlan) {  // D1, D2, D3
  const std::string run = start_deep("");
  for (const char* const id : {"explore", "implement", "test"}) {
    const auto next =
        result({"step", "next", "--worker", "ann", "--run", run, "--wait-ms", "20000"});
    ASSERT_TRUE(next.at("step").is_object()) << id;
    const auto& taken = next.at("step").as_object();
    EXPECT_EQ(taken.at("step"), id);
    EXPECT_EQ(taken.at("exploration").as_object().at("summary"), "make it so");
    EXPECT_EQ(server_.cli({"step", "heartbeat", run, id, "--token", token_of(taken)}).exit_code, 0);
    const Output other = server_.cli({"step", "complete", run, id, "--token", "1", "--json"});
    EXPECT_EQ(other.exit_code, 1);
    EXPECT_NE(other.out.find("STALE_TOKEN"), std::string::npos) << other.out;
    result({"step", "complete", run, id, "--token", token_of(taken), "--summary", "done"});
  }
  ASSERT_TRUE(ends_as(run, "succeeded"));
}

// The default plan has the same steps again.
TEST_F(DeepWorkTest, AfterAResetThePlanGoesOnWithWhatIsLeft) {  // D2
  const std::string run = start_deep("");
  const auto take = [&] {
    return result({"step", "next", "--worker", "ann", "--run", run, "--wait-ms", "20000"})
        .at("step")
        .as_object();
  };
  const auto complete = [&](const boost::json::object& step) {
    result({"step", "complete", run, std::string(step.at("step").as_string()), "--token",
            token_of(step)});
  };
  complete(take());
  const auto held = take();
  EXPECT_EQ(held.at("step"), "implement");
  const Output why = server_.cli({"run", "why", run});
  EXPECT_NE(why.out.find("step implement of its plan is done by ann"), std::string::npos)
      << why.out;
  result({"plan", "reset", run, "--reason", "it misses the tests"});
  for (const char* const id : {"implement", "test"}) {
    const auto step = take();
    EXPECT_EQ(step.at("step"), id);
    complete(step);
  }
  ASSERT_TRUE(ends_as(run, "succeeded"));
}

TEST_F(DeepWorkTest, AStepThatIsTriedAgainLaterIsNamed) {  // P7
  const std::string run =
      start_deep("retry_delay = \"1h\"\n" + plan(step("a")) + phase("step", "exit 1"));
  ASSERT_TRUE(eventually([&] {
    return server_.cli({"run", "why", run}).out.find("step a of its plan is tried again") !=
           std::string::npos;
  }));
  EXPECT_EQ(server_.cli({"run", "cancel", run}).exit_code, 0);
}

TEST_F(DeepWorkTest, ACanceledPlanHasNoStepUnderWay) {
  const std::string run = start_deep("");
  result({"step", "next", "--worker", "ann", "--run", run, "--wait-ms", "20000"});
  EXPECT_EQ(server_.cli({"run", "cancel", run}).exit_code, 0);
  ASSERT_TRUE(ends_as(run, "canceled"));
  const auto step = result({"plan", "get", run}).at("steps").as_array().front().as_object();
  EXPECT_EQ(step.at("status"), "pending");
  EXPECT_EQ(step.at("error"), "STATION_ATTEMPT_ENDED");
  EXPECT_FALSE(step.contains("token"));
}

TEST_F(DeepWorkTest, OutsideWorkersExploreAndPlan) {  // D1
  const std::string run = start_deep("explore = { worker = true }\nplan = { worker = true }\n" +
                                     phase("step", "echo $SIGNALBOX_STEP_ID >> $DIR/done"));
  std::string token;
  ASSERT_TRUE(eventually([&] {
    const auto plans = rpc("plan.list", {{"waiting_for", "explore"}}).at("plans").as_array();
    if (plans.empty()) return false;
    token = token_of(plans.front().as_object());
    return true;
  }));
  result({"plan", "explored", run, "work", "--token", token, "--summary", "small", "--file", "a"});
  const Output refused = server_.cli({"plan", "set", run, "work", "--token", token, "--steps",
                                      R"({"steps": [{"id": "a", "dependencies": ["a"]}]})"});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_NE(refused.err.find("depend on each other: a"), std::string::npos) << refused.err;
  result({"plan", "set", run, "work", "--token", token, "--steps",
          R"({"steps": [{"id": "a"}, {"id": "b"}]})"});
  ASSERT_TRUE(ends_as(run, "succeeded"));
  EXPECT_EQ(said("done"), "a\nb\n");
}

TEST_F(DeepWorkTest, AFailingStepChangesItsStrategyAndBlocksWhatNeedsIt) {  // D4, D5
  const std::string run =
      start_deep(plan(step("a") + "," + step("b", "a") + "," + step("c", "b") + "," + step("d")) +
                 phase("step",
                       "echo \"$SIGNALBOX_STEP_ID $SIGNALBOX_STEP_STRATEGY "
                       "$(cat \"$SIGNALBOX_PREVIOUS_ERROR_FILE\")\" >> $DIR/done\n"
                       "[ $SIGNALBOX_STEP_ID = d ] && exit 0\n"
                       "echo \"no luck\" >&2; exit 1"));
  ASSERT_TRUE(ends_as(run, "failed"));
  const std::string error = "EXIT_NONZERO: exit code 1: no luck";
  EXPECT_EQ(said("done"), "a original \na simplified " + error + "\na alternative " + error +
                              "\na decomposed " + error + "\nd original \n");
  EXPECT_EQ(count(run, "StepBlocked b"), 1U);
  EXPECT_EQ(count(run, "StepBlocked c"), 1U);
  EXPECT_EQ(count(run, "StepCompleted d"), 1U);
  const auto outcome = result_artifact(run);
  EXPECT_FALSE(outcome.at("success").as_bool());
  EXPECT_EQ(outcome.at("error").as_object().at("code"), "RETRY_EXHAUSTED");
  EXPECT_EQ(outcome.at("todo_status").as_object().at("failed_steps"), 1);
}

// Agents write prose before a plan and put it between fences.
TEST_F(DeepWorkTest, APlanIsFoundInProse) {  // A6, D3
  const std::string run = start_deep(
      phase("plan",
            "cat <<'END'\nI read {all} of it, and \"half\\\\ the tests. Not this one:\n"
            "{\"steps\": []}\n\n```json\n{\n  \"note\": \"cut \\ud83d\",\n  \"steps\": [" +
                step("a") + "]\n}\n```\nThat's the plan.\nEND") +
      phase("step", "echo $SIGNALBOX_STEP_ID >> $DIR/done"));
  ASSERT_TRUE(ends_as(run, "succeeded"));
  EXPECT_EQ(said("done"), "a\n");
}

TEST_F(DeepWorkTest, AnInvalidPlanFailsWithItsIds) {  // D3
  const std::string run = start_deep(plan(step("a", "b") + "," + step("b", "a")) +
                                     phase("step", "echo done >> $DIR/done"));
  ASSERT_TRUE(ends_as(run, "failed"));
  const auto error = result_artifact(run).at("error").as_object();
  EXPECT_EQ(error.at("code"), "PLAN_INVALID");
  EXPECT_NE(text(error, "message").find("a, b"), std::string::npos) << error;
  EXPECT_EQ(said("done"), "");
}

TEST_F(DeepWorkTest, TooManyStepsAreCutAndItIsSaid) {  // D3
  const std::string run =
      start_deep("max_steps = 2\n" + plan(step("c", "b") + "," + step("a") + "," + step("b", "a")) +
                 phase("step", "echo $SIGNALBOX_STEP_ID >> $DIR/done"));
  ASSERT_TRUE(ends_as(run, "succeeded"));
  EXPECT_EQ(said("done"), "a\nb\n");
  EXPECT_EQ(result_artifact(run).at("plan").as_object().at("cut"), 1);
}

TEST_F(DeepWorkTest, AnExplorationThatTakesTooLongIsGoneOnWithout) {  // D2
  const std::string run =
      start_deep("explore_timeout = \"3s\"\n" + phase("explore", "exec sleep 300") +
                 plan(step("a")) + phase("step", "exit 0"));
  ASSERT_TRUE(ends_as(run, "succeeded"));
  EXPECT_EQ(count(run, "ExplorationTimedOut"), 1U);
  EXPECT_TRUE(all_are_gone(run));
  EXPECT_EQ(result_artifact(run).at("exploration").as_object().at("summary"), "make it so");
}

TEST_F(DeepWorkTest, AStepThatTakesTooLongIsEndedWithAllItsProcesses) {  // D7
  const std::string run = start_deep("step_timeout = \"5s\"\nmax_retries = 1\n" + plan(step("a")) +
                                     phase("step",
                                           "[ $SIGNALBOX_STEP_STRATEGY = decomposed ] && exit 0\n"
                                           "setsid sleep 300 &\nwait"));
  ASSERT_TRUE(ends_as(run, "succeeded"));
  EXPECT_TRUE(all_are_gone(run));
  EXPECT_EQ(count(run, "StepAttemptFailed a"), 1U);
}

TEST_F(DeepWorkTest, ANewAttemptOfTheStationDoesOnlyWhatIsLeft) {  // D7
  const std::string run = start_deep(
      "max_retries = 0\n" + plan(step("a") + "," + step("b", "a")) +
          phase("step",
                "echo $SIGNALBOX_STEP_ID >> $DIR/done\n"
                "[ $SIGNALBOX_STEP_ID = a ] && exit 0\n"
                "[ -e $DIR/tried ] && exit 0\ntouch $DIR/tried\nexit 1"),
      "backoff = \"10ms\"\nmax_retries = 1\nstrategies = [\"original\", \"simplified\"]");
  ASSERT_TRUE(ends_as(run, "succeeded"));
  EXPECT_EQ(said("done"), "a\nb\nb\n");
  EXPECT_EQ(count(run, "StepReopened b"), 1U);
}

TEST_F(DeepWorkTest, ARunsOwnCancelEndsTheStepUnderWay) {  // S11
  const std::string run =
      start_deep(plan(step("a")) + phase("step", "sleep 300 & echo $! > $DIR/child\nwait"));
  const pid_t child = pid_in("child");
  result({"run", "cancel", run});
  ASSERT_TRUE(ends_as(run, "canceled"));
  EXPECT_FALSE(is_alive(child));
}

// The example in tools/GUIDE.md works.
TEST_F(DeepWorkTest, TheExampleOfTheGuideRuns) {
  const std::string guide = content_of(SIGNALBOX_SOURCE_DIR "/tools/GUIDE.md");
  const std::size_t marker = guide.find("executor = \"deep_work\"\n");
  ASSERT_NE(marker, std::string::npos);
  const std::size_t begin = guide.rfind("<<'TOML'\n", marker) + 9;
  std::ofstream(pipeline()) << guide.substr(begin, guide.find("\nTOML\n", begin) + 1 - begin);
  const std::string run =
      text(result({"run", "start", "say hello", "--pipeline", pipeline()}), "run_id");
  ASSERT_TRUE(ends_as(run, "succeeded"));
  EXPECT_TRUE(result_artifact(run).at("success").as_bool());
}

}  // namespace
}  // namespace signalbox
