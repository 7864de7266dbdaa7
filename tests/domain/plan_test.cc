// Plans: the exploration before them, their validation, and what outlasts the attempts of the
// station. D2, D3, D6, D7.
#include "tests/domain/plan_fixture.h"

namespace signalbox {
namespace {

TEST_F(PlanTest, ExplorationComesFirstAndOnce) {  // D2
  DeepWorkDefinition work;
  work.max_files = 2;
  begun(work);
  when(plan_of({proposed("a")}));
  then_rejected(ErrorCode::PLAN_ORDER);
  SetExploration exploration{run, "implement", 2, "a parser", {"a.c", "b.c", "c.c"}, {"old"}, {}};
  exploration.token = 1;
  when(exploration);
  then_rejected(ErrorCode::STALE_TOKEN);
  exploration.token = 2;
  when(exploration);
  then({PlanEvent{ExplorationFinished{
      "implement", {"a parser", {"a.c", "b.c"}, {"old"}}, /*files_cut=*/1, 0}}});
  when(exploration);
  then_rejected(ErrorCode::PLAN_ORDER);
}

TEST_F(PlanTest, AnExplorationThatTimesOutIsEmptyWithTheGoal) {  // D2
  begun({});
  when(SetExploration{run, "implement", 2, {}, {}, {}, true});
  then({PlanEvent{ExplorationTimedOut{"implement", 30'000}},
        PlanEvent{ExplorationFinished{"implement", {"goal", {}, {}}, 0, 0}}});
}

TEST_F(PlanTest, AnInvalidPlanIsRefusedWithTheOffendingIds) {  // D3
  begun({});
  given({explored()});
  when(plan_of({}));
  then_rejected(ErrorCode::PLAN_INVALID);
  when(plan_of({proposed("a"), proposed("b", {"x", "a", "y"})}));
  then_rejected(ErrorCode::PLAN_INVALID);
  EXPECT_EQ(rejected_ids(), (std::vector<std::string>{"x", "y"}));
  when(plan_of({proposed("a"), proposed("b"), proposed("a")}));
  then_rejected(ErrorCode::PLAN_INVALID);
  EXPECT_EQ(rejected_ids(), std::vector<std::string>{"a"});
  when(plan_of({proposed("free"), proposed("tail", {"a"}), proposed("a", {"c"}),
                proposed("b", {"a"}), proposed("c", {"free", "b"})}));
  then_rejected(ErrorCode::PLAN_INVALID);
  EXPECT_EQ(rejected_ids(), (std::vector<std::string>{"a", "c", "b"})) << "the cycle, nothing else";
  when(plan_of({proposed("a", {"a"})}));
  then_rejected(ErrorCode::PLAN_INVALID);
  EXPECT_EQ(rejected_ids(), std::vector<std::string>{"a"});
  when(plan_of({proposed("../a")}));
  then_rejected(ErrorCode::PLAN_INVALID);
  EXPECT_EQ(rejection->next_commands,
            std::vector<std::string>{"signalbox plan get " + to_string(run)});
}

TEST_F(PlanTest, WhatIsTooMuchIsCutWithWhatDependsOnIt) {  // D3
  DeepWorkDefinition work;
  work.max_steps = 3;
  begun(work);
  given({explored()});
  when(plan_of({proposed("late", {"d"}), proposed("a"), proposed("b", {"a"}), proposed("c", {"b"}),
                proposed("d", {"c"})}));
  then({PlanEvent{PlanSet{"implement", {step("a"), step("b", {"a"}), step("c", {"b"})}, 2}}});
}

TEST_F(PlanTest, TheStationCantSucceedBeforeItsSteps) {  // D6
  begun_with(by_command(), {step("a"), step("b")});
  CompleteStation complete = end_of("implement", 2);
  complete.from_executor = true;
  when(complete);
  then_names({"StationAttemptFailed"});
  const auto& failed = std::get<StationAttemptFailed>(std::get<StationEvent>(events.front().event));
  EXPECT_EQ(failed.failure.code, "TODO_INCOMPLETE");
  EXPECT_NE(failed.failure.message.find("a, b"), std::string::npos) << failed.failure.message;
}

TEST_F(PlanTest, OfManyIncompleteStepsSomeAreNamed) {  // D6
  std::vector<StepDefinition> steps;
  for (char id = 'a'; id <= 'l'; ++id) steps.push_back(step(std::string(1, id)));
  begun_with(by_command(), std::move(steps));
  CompleteStation complete = end_of("implement", 2);
  complete.from_executor = true;
  when(complete);
  then_names({"StationAttemptFailed"});
  EXPECT_EQ(event_as<StationAttemptFailed>(events.front().event)->failure.message,
            "not completed: a, b, c, d, e, f, g, h, i, j and 2 more");
}

TEST_F(PlanTest, WithoutAPlanTheStationCantSucceedEither) {  // D6
  begun(by_command());
  CompleteStation complete = end_of("implement", 2);
  complete.from_executor = true;
  when(complete);
  then_names({"StationAttemptFailed"});
  EXPECT_EQ(event_as<StationAttemptFailed>(events.front().event)->failure.message,
            "there is no plan");
}

TEST_F(PlanTest, AnOutsideWorkersStepOutlastsTheStationsAttempt) {  // D7
  begun_with({}, {step("a")});
  when(outside());
  const Token token = token_of("a");
  CompleteStation lost = end_of("implement", 2, Outcome::failed);
  lost.from_executor = true;
  lost.error_class = ErrorClass::lost;
  when(lost);
  then_names({"StationAttemptFailed"});
  when(CompleteStep{run, "a", token, {}});
  then({step_completed("a")});
}

TEST_F(PlanTest, CompletedStepsOutlastTheStationsAttempt) {  // D7
  begun_with(by_command(), {step("a"), step("b", {"a"})});
  given({step_started("a"), step_completed("a"), step_started("b")});
  const Token token = token_of("b");
  CompleteStation lost = end_of("implement", 2);
  lost.from_executor = true;
  lost.outcome = Outcome::failed;
  lost.error_class = ErrorClass::lost;
  when(lost);
  then_names({"StepAttemptFailed", "StepReady", "StationAttemptFailed"});
  when(CompleteStep{run, "b", token, {}});
  then_rejected(ErrorCode::STALE_TOKEN);
  when(own());
  then_rejected(ErrorCode::STALE_TOKEN);
  when(WakeStation{run});
  when(DispatchStation{run, {}});
  then_names({"StationClaimed", "StationSubmitIntended"});
  NextStep next = own();
  next.token = the_run().attempt->token;
  when(next);
  then({step_started("b", 2)});
  when(CompleteStep{run, "b", token_of("b"), {}});
  lost.token = *next.token;
  lost.outcome = Outcome::succeeded;
  when(lost);
  then_names({"StationSucceeded", "RunSucceeded"});
  EXPECT_TRUE(world.planned.empty());
}

// The service once aborted at the second StepBlocked, and again at each start.
TEST_F(PlanTest, AStepThatDependsOnTwoThatFailTogetherIsBlockedOnce) {  // D7, G1
  DeepWorkDefinition work = by_command();
  work.max_retries = 0;
  begun_with(work, {step("a"), step("b"), step("c", {"a", "b"}), step("d", {"b"})});
  when(own());
  when(own());
  CompleteStation lost = end_of("implement", 2, Outcome::failed);
  lost.from_executor = true;
  lost.error_class = ErrorClass::lost;
  when(lost);
  then_names({"StepFailed", "StepBlocked", "StepFailed", "StepBlocked", "StationAttemptFailed"});
  EXPECT_EQ(status_of("c"), StepStatus::blocked);
  EXPECT_EQ(status_of("d"), StepStatus::blocked);
}

TEST_F(PlanTest, ANewAttemptReopensWhatFailedWhereNothingElseIsLeft) {
  DeepWorkDefinition work = by_command();
  work.max_retries = 0;
  begun_with(work, {step("a"), step("b", {"a"}), step("c")});
  when(own());
  when(failing("a", token_of("a")));
  given({step_started("c"), step_completed("c")});
  CompleteStation failed = end_of("implement", 2);
  failed.from_executor = true;
  failed.outcome = Outcome::failed;
  when(failed);
  when(WakeStation{run});
  when(DispatchStation{run, {}});
  then_names({"StationClaimed", "StationSubmitIntended", "StepReopened", "StepReopened"});
  EXPECT_EQ(status_of("c"), StepStatus::completed);
  NextStep next = own();
  next.token = the_run().attempt->token;
  when(next);
  then({step_started("a", 2)});
}

TEST_F(PlanTest, AResetKeepsWhatIsCompleted) {
  begun_with(by_command(), {step("a"), step("b", {"a"})});
  given({step_started("a"), step_completed("a"), step_started("b")});
  const Token token = token_of("b");
  when(ResetPlan{run, {}, "too coarse"});
  then({PlanEvent{PlanReset{"implement", "too coarse"}}});
  when(ResetPlan{run, {}, {}});
  then_nothing();
  when(CompleteStep{run, "b", token, {}});
  then_rejected(ErrorCode::STEP_NOT_FOUND);
  when(plan_of({proposed("a")}));
  then_rejected(ErrorCode::PLAN_INVALID);
  when(plan_of({proposed("b1", {"a"}), proposed("b2", {"b1"})}));
  then_names({"PlanSet"});
  when(own());
  then({step_started("b1")});
}

TEST_F(PlanTest, GuardsAreAskedInTheirOrder) {
  NextStep next = own();
  next.worker = "";
  when(next);
  then_rejected(ErrorCode::INVALID_PARAMS);
  when(own());
  then_rejected(ErrorCode::RUN_NOT_FOUND);
  given({started({"flat", {worker_station("a")}, {}}), claimed("a")});
  when(CompleteStep{run, "a", 2, {}});
  then_rejected(ErrorCode::PLAN_NOT_FOUND);
  given({succeeded("a"), run_succeeded()});
  when(CompleteStep{run, "a", 2, {}});
  then_rejected(ErrorCode::RUN_TERMINAL);
}

}  // namespace
}  // namespace signalbox
