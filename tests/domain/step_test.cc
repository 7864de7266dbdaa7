// Steps of a plan: their order, retries and strategies, blocked dependents, and their workers.
// D1, D4, D5, D7.
#include "tests/domain/plan_fixture.h"

namespace signalbox {
namespace {

using StepTest = PlanTest;

TEST_F(StepTest, StepsAreTakenInTheOrderOfTheirDependencies) {  // D1, D5, D6
  begun_with(by_command(), {step("b", {"a"}), step("a")});
  when(own());
  then({step_started("a")});
  when(own());
  then_nothing();
  when(CompleteStep{run, "a", 5, {}});
  then_rejected(ErrorCode::STALE_TOKEN);
  when(CompleteStep{run, "x", 6, {}});
  then_rejected(ErrorCode::STEP_NOT_FOUND);
  when(CompleteStep{run, "a", 6, "done"});
  then({PlanEvent{StepCompleted{"a", 1, "done"}}});
  const TodoStatus todo = todo_status(*the_run().plan);
  EXPECT_EQ(todo.completed_steps, 1U);
  EXPECT_EQ(todo.remaining_steps, 1U);
  EXPECT_FALSE(todo.all_complete);
  EXPECT_EQ(todo.incomplete_step_ids, std::vector<std::string>{"b"});
  when(own());
  then({step_started("b")});
  when(CompleteStep{run, "b", token_of("b"), {}});
  EXPECT_TRUE(todo_status(*the_run().plan).all_complete);
}

TEST_F(StepTest, AttemptNUsesStrategyNAndTheLastOneIsReached) {  // D4
  // In the order of the plan a dependent may come first.
  begun_with(by_command(), {step("c", {"b"}), step("b", {"a"}), step("a"), step("free")});
  using enum Strategy;
  std::uint32_t attempt = 0;
  for (const Strategy strategy : {original, simplified, alternative, decomposed}) {
    when(own());
    then({step_started("a", ++attempt, strategy)});
    when(failing("a", token_of("a")));
  }
  const Failure failure{Outcome::failed, ErrorClass::terminal, "BROKEN", "no luck"};
  then({PlanEvent{StepFailed{"a", 4, "RETRY_EXHAUSTED", failure}}, PlanEvent{StepBlocked{"c", "a"}},
        PlanEvent{StepBlocked{"b", "a"}}});
  when(own());
  then({step_started("free")});  // D5: other branches go on
  EXPECT_FALSE(is_settled(*the_run().plan));
  when(CompleteStep{run, "free", token_of("free"), {}});
  EXPECT_TRUE(is_settled(*the_run().plan));
  when(own());
  then_nothing();
}

TEST_F(StepTest, WithFewerAttemptsThanStrategiesTheLastAttemptUsesTheLast) {  // D4
  DeepWorkDefinition work = by_command();
  work.max_retries = 1;
  begun_with(work, {step("a")});
  when(own());
  when(failing("a", token_of("a")));
  const Failure failure{Outcome::failed, ErrorClass::terminal, "BROKEN", "no luck"};
  then({PlanEvent{StepAttemptFailed{"a", 1, failure, now.wall_ns, Strategy::decomposed}},
        PlanEvent{StepReady{"a"}}});
}

TEST_F(StepTest, TheRunsOwnMaxRetriesOverrides) {  // D4
  Event start = started(deep_pipeline(by_command()));
  std::get<RunStarted>(std::get<RunEvent>(start)).max_retries = 0;
  given({start, dispatched("implement"), intended("implement"), explored(), planned({step("a")})});
  when(own());
  when(failing("a", token_of("a")));
  then_names({"StepFailed"});
}

TEST_F(StepTest, WhatIsConfiguredWronglyIsNotTriedAgain) {
  begun_with(by_command(), {step("a")});
  when(own());
  FailStep fail = failing("a", token_of("a"));
  fail.error_class = ErrorClass::config;
  when(fail);
  then_names({"StepFailed"});
  EXPECT_EQ(std::get<StepFailed>(std::get<PlanEvent>(events.front().event)).code, "BROKEN");
}

TEST_F(StepTest, ADelayIsWaitedFor) {  // D4
  DeepWorkDefinition work = by_command();
  work.retry_delay_ms = 100;
  begun_with(work, {step("a")});
  when(own());
  when(failing("a", token_of("a")));
  then_names({"StepAttemptFailed"});
  EXPECT_EQ(status_of("a"), StepStatus::waiting);
  when(own());
  then_nothing();
  when(WakeStep{run, "a"});
  then({PlanEvent{StepReady{"a"}}});
  when(WakeStep{run, "a"});
  then_nothing();
  when(own());
  then({step_started("a", 2, Strategy::simplified)});
}

TEST_F(StepTest, OutsideWorkersTakeStepsThatNoCommandDoes) {  // D1
  begun_with({}, {step("a"), step("b")});
  when(own());
  then_nothing();
  when(outside());
  then({step_started("a", 1, Strategy::original, 500)});
  const Token token = token_of("a");
  EXPECT_TRUE(is_mere_renewal(world, HeartbeatStep{run, "a", token, 500}));  // N6
  EXPECT_FALSE(is_mere_renewal(world, HeartbeatStep{run, "a", token + 1, 500}));
  EXPECT_FALSE(is_mere_renewal(world, HeartbeatStep{run, "a", token, 700}));
  when(HeartbeatStep{run, "a", token, 700});
  then({PlanEvent{StepHeartbeat{"a", 700}}});
  EXPECT_TRUE(is_mere_renewal(world, HeartbeatStep{run, "a", token, {}}));
  when(ExpireStepLease{run, "a", token, token});
  then_nothing();  // the lease was renewed
  when(ExpireStepLease{run, "a", token, world.position});
  then_names({"StepAttemptFailed", "StepReady"});
  EXPECT_EQ(the_run().plan->find("a")->strategy_index, 0) << "a lost one is tried the same way";
  when(CompleteStep{run, "a", token, {}});
  then_rejected(ErrorCode::STALE_TOKEN);
  when(outside());
  when(TimeOutStep{run, "a", token_of("a")});  // D7
  then_names({"StepAttemptFailed", "StepReady"});
  EXPECT_EQ(the_run().plan->find("a")->strategy_index, 1);
}

TEST_F(StepTest, StepsOfACommandAreNotForOutsideWorkers) {
  begun_with(by_command(), {step("a")});
  when(outside());
  then_nothing();
  when(NextStep{"ann", run, {}, {}, {}});
  then_rejected(ErrorCode::STATION_NOT_CLAIMABLE);
}

TEST_F(StepTest, AStepOfItsCommandHasNoLeaseAndCantGetOne) {  // D7
  begun_with(by_command(), {step("a")});
  when(own());
  const Token token = token_of("a");
  when(HeartbeatStep{run, "a", token, 700});
  then({PlanEvent{StepHeartbeat{"a", 0}}});
  when(ExpireStepLease{run, "a", token, world.position});
  then_nothing();
  when(TimeOutStep{run, "a", token});
  then_names({"StepAttemptFailed", "StepReady"});
}

TEST_F(StepTest, ATokenIsSentWithItsRun) {
  begun_with(by_command(), {step("a")});
  when(NextStep{"deep_work", {}, 2, {}, {}});
  then_rejected(ErrorCode::INVALID_PARAMS);
}

TEST_F(StepTest, OfTwoRunsTheOneThatBeganFirstComesFirst) {  // D1
  const std::vector<RunId> ids = {uuid_of(2), uuid_of(1)};
  for (const RunId& id : ids) {
    run = id;
    begun_with({}, {step("a")});
  }
  for (const RunId& id : ids) {
    when(outside());
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events.front().stream.run_id, id);
  }
  when(outside());
  then_nothing();
}

TEST_F(StepTest, ARunThatIsBeingCanceledBeginsNoStep) {  // S11
  begun_with(by_command(), {step("a")});
  when(CancelRun{run, "enough"});
  then_names({"RunCancelRequested"});
  when(own());
  then_nothing();
}

TEST_F(StepTest, OfAPausedRunNeverTimesOut) {  // W2, D7
  begun_with({}, {step("a")});
  when(outside());
  const Token token = token_of("a");
  when(PauseRun{run, {}});
  when(TimeOutStep{run, "a", token});
  then_nothing();
  when(ResumeRun{run, {}, {}, {}});
  when(TimeOutStep{run, "a", token});
  then_names({"StepAttemptFailed", "StepReady"});
}

TEST_F(StepTest, APausedRunBeginsNoStep) {
  begun_with({}, {step("a")});
  when(PauseRun{run, {}});
  when(outside());
  then_nothing();
  when(ResumeRun{run, {}, {}, {}});
  when(outside());
  then_names({"StepAttemptStarted"});
}

}  // namespace
}  // namespace signalbox
