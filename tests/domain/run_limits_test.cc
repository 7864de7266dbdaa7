// The limits of the commands about runs. P8
#include <gtest/gtest.h>

#include "tests/domain/limits_fixture.h"

namespace signalbox {
namespace {

class RunLimits : public LimitsTest {
 protected:
  RunLimits() {
    start.goal = "goal";
    start.run_id = run;
    start.pipeline = PipelineDefinition{"one", {worker_station("a")}};
    start.pipeline_digest = digest_of(0x90);
  }
  StartRun start;
};

TEST_F(RunLimits, OfTheTextsOfAStart) {
  expect_bytes_max("goal", limits::goal_bytes_max, with_field(start, &StartRun::goal));
  expect_bytes_max("input", limits::input_bytes_max, with_field(start, &StartRun::input));
  expect_bytes_max("project", limits::name_bytes_max, with_field(start, &StartRun::project));
  expect_bytes_max("base", limits::name_bytes_max, with_field(start, &StartRun::base));
  expect_bytes_max("idempotency_key", limits::name_bytes_max,
                   with_field(start, &StartRun::idempotency_key));
  expect_bytes_max("run_root", limits::path_bytes_max, with_field(start, &StartRun::run_root), '/');
  expect_bytes_max("repository", limits::path_bytes_max, with_field(start, &StartRun::repository),
                   '/');
}

TEST_F(RunLimits, OfLabels) {
  expect_bytes_max("label", limits::label_bytes_max, [this](const std::string& text) {
    StartRun command = start;
    command.labels = {{text, "rail"}};
    return command;
  });
  expect_bytes_max("value of a label", limits::label_bytes_max, [this](const std::string& text) {
    StartRun command = start;
    command.labels = {{"team", text}};
    return command;
  });
  for (std::size_t number = 1; number <= limits::labels_max; ++number) {
    start.labels["label" + std::to_string(number)] = "";
  }
  EXPECT_EQ(refusal_of(start), std::nullopt);
  start.labels["another"] = "";
  EXPECT_EQ(refusal_of(start), ErrorCode::LIMIT_EXCEEDED);
}

TEST_F(RunLimits, OfRetriesAndOfABudget) {
  start.max_retries = limits::retries_max;
  EXPECT_EQ(refusal_of(start), std::nullopt);
  start.max_retries = limits::retries_max + 1;
  EXPECT_EQ(refusal_of(start), ErrorCode::INVALID_PARAMS);
  start.max_retries.reset();
  for (std::int64_t Budget::*figure : {&Budget::cost_microusd, &Budget::tokens, &Budget::turns}) {
    expect_between("budget", 0, limits::usage_max, [this, figure](std::int64_t value) {
      StartRun command = start;
      command.budget.emplace().*figure = value;
      return command;
    });
  }
}

TEST_F(RunLimits, OfTheReasonsThatPeopleGive) {
  given({started({"one", {worker_station("a")}})});
  expect_bytes_max("cancel", limits::reason_bytes_max,
                   with_field(CancelRun{run, {}}, &CancelRun::reason));
  expect_bytes_max("pause", limits::reason_bytes_max,
                   with_field(PauseRun{run, {}}, &PauseRun::reason));
  expect_bytes_max("resume", limits::reason_bytes_max,
                   with_field(ResumeRun{run, {}, {}, {}}, &ResumeRun::reason));
}

// More verdicts than fit are only in the crash report.
TEST_F(RunLimits, OfTheVerdictsOfARecovery) {  // T8
  given({ServerEvent{ServerStarted{1, "x", PreviousEnd::crashed}}});
  for (const std::size_t items : {limits::recovered_items_max, limits::recovered_items_max + 1}) {
    FinishRecovery command;
    command.items.resize(items);
    const auto decided = decide(world, command, now);
    ASSERT_TRUE(decided);
    const auto* finished = event_as<RecoveryFinished>(decided->front().event);
    ASSERT_NE(finished, nullptr);
    EXPECT_EQ(finished->items.size(), limits::recovered_items_max);
    EXPECT_EQ(finished->items_total, items);
  }
}

}  // namespace
}  // namespace signalbox
