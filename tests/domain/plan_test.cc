// Plans and their steps: what a valid plan is, retries and strategies, blocked dependents, and what
// outlasts the attempts of the station. D1–D7.
#include <gtest/gtest.h>

#include <array>
#include <map>

#include "tests/domain/given_when_then.h"

namespace signalbox {
namespace {

StepDefinition step(std::string id, std::vector<std::string> dependencies = {}) {
  return {std::move(id), "do it", StepType::implement, std::move(dependencies), StepEffort::small};
}
ProposedStep proposed(std::string id, std::vector<std::string> dependencies = {}) {
  return {std::move(id), "do it", StepType::implement, std::move(dependencies), StepEffort::small};
}

PipelineDefinition deep_pipeline(DeepWorkDefinition work = {}) {
  StationDefinition station;
  station.name = "implement";
  station.executor = ExecutorKind::deep_work;
  station.deep_work = std::move(work);
  station.heartbeat_timeout_ms = 500;
  station.retry.strategies = {Strategy::original, Strategy::simplified};
  return {"deep", {station}, {}};
}
DeepWorkDefinition by_command() {
  DeepWorkDefinition work;
  work.step.command = {"true"};
  return work;
}

Event explored() { return PlanEvent{ExplorationFinished{"implement", {"goal", {}, {}}, 0, 0}}; }
Event planned(std::vector<StepDefinition> steps) {
  return PlanEvent{PlanSet{"implement", std::move(steps), 0}};
}
Event step_started(std::string id, std::uint32_t attempt = 1,
                   Strategy strategy = Strategy::original, std::int64_t lease_ms = 0) {
  return PlanEvent{StepAttemptStarted{"implement", std::move(id), attempt, strategy,
                                      lease_ms == 0 ? "deep_work" : "ann", lease_ms}};
}
Event step_completed(std::string id, std::uint32_t attempt = 1) {
  return PlanEvent{StepCompleted{std::move(id), attempt, ""}};
}

class PlanTest : public GivenWhenThen {
 protected:
  // The station's attempt has token 2, and the next event is number 4.
  void begun(DeepWorkDefinition work) {
    given(
        {started(deep_pipeline(std::move(work))), dispatched("implement"), intended("implement")});
  }
  // The next event is number 6.
  void begun_with(DeepWorkDefinition work, std::vector<StepDefinition> steps) {
    begun(std::move(work));
    given({explored(), planned(std::move(steps))});
  }
  [[nodiscard]] NextStep own() const { return {"deep_work", run, 2, {}, {}}; }
  [[nodiscard]] NextStep outside() const { return {"ann", {}, {}, {}, {}}; }
  [[nodiscard]] FailStep failing(const std::string& id, Token token) const {
    return {run, id, token, {}, "BROKEN", "no luck"};
  }
  [[nodiscard]] Token token_of(const std::string& id) const {
    return the_run().plan->find(id)->token;
  }
  [[nodiscard]] StepStatus status_of(const std::string& id) const {
    return the_run().plan->find(id)->status;
  }
  [[nodiscard]] std::vector<std::string> ids_told() const {
    for (const Detail& detail : rejection->details) {
      if (detail.key == "step_ids") return std::get<std::vector<std::string>>(detail.value);
    }
    return {};
  }
  SetPlan plan_of(std::vector<ProposedStep> steps) const {
    return {run, "implement", 2, std::move(steps)};
  }
};

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
  EXPECT_EQ(ids_told(), (std::vector<std::string>{"x", "y"}));
  when(plan_of({proposed("a"), proposed("b"), proposed("a")}));
  then_rejected(ErrorCode::PLAN_INVALID);
  EXPECT_EQ(ids_told(), std::vector<std::string>{"a"});
  when(plan_of({proposed("free"), proposed("tail", {"a"}), proposed("a", {"c"}),
                proposed("b", {"a"}), proposed("c", {"free", "b"})}));
  then_rejected(ErrorCode::PLAN_INVALID);
  EXPECT_EQ(ids_told(), (std::vector<std::string>{"a", "c", "b"})) << "the cycle, nothing else";
  when(plan_of({proposed("a", {"a"})}));
  then_rejected(ErrorCode::PLAN_INVALID);
  EXPECT_EQ(ids_told(), std::vector<std::string>{"a"});
  when(plan_of({proposed("../a")}));
  then_rejected(ErrorCode::PLAN_INVALID);
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

TEST_F(PlanTest, StepsAreTakenInTheOrderOfTheirDependencies) {  // D1, D5, D6
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

TEST_F(PlanTest, AttemptNUsesStrategyNAndTheLastOneIsReached) {  // D4
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

TEST_F(PlanTest, WithFewerAttemptsThanStrategiesTheLastAttemptUsesTheLast) {  // D4
  DeepWorkDefinition work = by_command();
  work.max_retries = 1;
  begun_with(work, {step("a")});
  when(own());
  when(failing("a", token_of("a")));
  const Failure failure{Outcome::failed, ErrorClass::terminal, "BROKEN", "no luck"};
  then({PlanEvent{StepAttemptFailed{"a", 1, failure, now.wall_ns, Strategy::decomposed}},
        PlanEvent{StepReady{"a"}}});
}

TEST_F(PlanTest, TheRunsOwnMaxRetriesOverrides) {  // D4
  Event start = started(deep_pipeline(by_command()));
  std::get<RunStarted>(std::get<RunEvent>(start)).max_retries = 0;
  given({start, dispatched("implement"), intended("implement"), explored(), planned({step("a")})});
  when(own());
  when(failing("a", token_of("a")));
  then_names({"StepFailed"});
}

TEST_F(PlanTest, WhatIsConfiguredWronglyIsNotTriedAgain) {
  begun_with(by_command(), {step("a")});
  when(own());
  FailStep fail = failing("a", token_of("a"));
  fail.error_class = ErrorClass::config;
  when(fail);
  then_names({"StepFailed"});
  EXPECT_EQ(std::get<StepFailed>(std::get<PlanEvent>(events.front().event)).code, "BROKEN");
}

TEST_F(PlanTest, ADelayIsWaitedFor) {  // D4
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

TEST_F(PlanTest, OutsideWorkersTakeStepsThatNoCommandDoes) {  // D1
  begun_with({}, {step("a"), step("b")});
  when(own());
  then_nothing();
  when(outside());
  then({step_started("a", 1, Strategy::original, 500)});
  const Token token = token_of("a");
  when(HeartbeatStep{run, "a", token, 700});
  then({PlanEvent{StepHeartbeat{"a", 700}}});
  when(ExpireStepLease{run, "a", token, token});
  then_nothing();  // it was renewed
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

TEST_F(PlanTest, StepsOfACommandAreNotForOutsideWorkers) {
  begun_with(by_command(), {step("a")});
  when(outside());
  then_nothing();
  when(NextStep{"ann", run, {}, {}, {}});
  then_rejected(ErrorCode::STATION_NOT_CLAIMABLE);
}

TEST_F(PlanTest, APausedRunBeginsNoStep) {
  begun_with({}, {step("a")});
  when(PauseRun{run, {}});
  when(outside());
  then_nothing();
  when(ResumeRun{run, {}, {}, {}});
  when(outside());
  then_names({"StepAttemptStarted"});
}

TEST_F(PlanTest, TheStationCantSucceedBeforeItsSteps) {  // D6
  begun_with(by_command(), {step("a"), step("b")});
  CompleteStation complete;
  complete.run_id = run;
  complete.station = "implement";
  complete.token = 2;
  complete.from_executor = true;
  when(complete);
  then_names({"StationAttemptFailed"});
  const auto& failed = std::get<StationAttemptFailed>(std::get<StationEvent>(events.front().event));
  EXPECT_EQ(failed.failure.code, "TODO_INCOMPLETE");
  EXPECT_NE(failed.failure.message.find("a, b"), std::string::npos) << failed.failure.message;
}

TEST_F(PlanTest, CompletedStepsOutlastTheStationsAttempt) {  // D7
  begun_with(by_command(), {step("a"), step("b", {"a"})});
  given({step_started("a"), step_completed("a"), step_started("b")});
  const Token token = token_of("b");
  CompleteStation lost;
  lost.run_id = run;
  lost.station = "implement";
  lost.token = 2;
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

TEST_F(PlanTest, ANewAttemptReopensWhatFailedWhereNothingElseIsLeft) {
  DeepWorkDefinition work = by_command();
  work.max_retries = 0;
  begun_with(work, {step("a"), step("b", {"a"}), step("c")});
  when(own());
  when(failing("a", token_of("a")));
  given({step_started("c"), step_completed("c")});
  CompleteStation failed;
  failed.run_id = run;
  failed.station = "implement";
  failed.token = 2;
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

constexpr std::array step_statuses = {StepStatus::pending, StepStatus::running,
                                      StepStatus::waiting, StepStatus::completed,
                                      StepStatus::failed,  StepStatus::blocked};
constexpr std::array plan_statuses = {PlanStatus::exploring, PlanStatus::planning, PlanStatus::set};

std::vector<Event> plan_events() {
  const Failure failure{Outcome::failed, ErrorClass::terminal, "X", ""};
  return {explored(),
          PlanEvent{ExplorationTimedOut{"implement", 1}},
          planned({step("z")}),
          PlanEvent{PlanReset{"implement", ""}},
          PlanEvent{PlanRestored{"implement", {}, 0}},
          step_started("a", 9),
          PlanEvent{StepHeartbeat{"a", 1}},
          step_completed("a"),
          PlanEvent{StepAttemptFailed{"a", 1, failure, 1, Strategy::original}},
          PlanEvent{StepReady{"a"}},
          PlanEvent{StepFailed{"a", 1, "X", failure}},
          PlanEvent{StepBlocked{"a", "b"}},
          PlanEvent{StepReopened{"a"}}};
}
static_assert(std::variant_size_v<PlanEvents> == 13, "plan_events() has one of each");

// Written a second time on purpose: a change of a table is a change of the contract.
TEST(PlanTransitions, TheTablesSayWhatIsMeant) {
  using enum StepStatus;
  const std::map<std::pair<StepStatus, std::string>, StepStatus> meant = {
      {{pending, "StepAttemptStarted"}, running}, {{pending, "StepBlocked"}, blocked},
      {{running, "StepHeartbeat"}, running},      {{running, "StepCompleted"}, completed},
      {{running, "StepAttemptFailed"}, waiting},  {{running, "StepFailed"}, failed},
      {{waiting, "StepReady"}, pending},          {{failed, "StepReopened"}, pending},
      {{blocked, "StepReopened"}, pending}};
  const std::map<std::pair<PlanStatus, std::string>, PlanStatus> plans = {
      {{PlanStatus::exploring, "ExplorationTimedOut"}, PlanStatus::exploring},
      {{PlanStatus::exploring, "ExplorationFinished"}, PlanStatus::planning},
      {{PlanStatus::planning, "PlanSet"}, PlanStatus::set},
      {{PlanStatus::planning, "PlanRestored"}, PlanStatus::set},
      {{PlanStatus::set, "PlanReset"}, PlanStatus::planning}};
  for (const Event& event : plan_events()) {
    const EventTag tag = tag_of(event);
    for (const StepStatus from : step_statuses) {
      const auto row = meant.find({from, std::string(tag.name)});
      EXPECT_EQ(next_status(from, tag.number),
                row == meant.end() ? std::nullopt : std::optional(row->second))
          << shown(from) << " " << tag.name;
    }
    for (const PlanStatus from : plan_statuses) {
      const auto row = plans.find({from, std::string(tag.name)});
      EXPECT_EQ(next_status(from, tag.number),
                row == plans.end() ? std::nullopt : std::optional(row->second))
          << shown(from) << " " << tag.name;
    }
  }
  EXPECT_EQ(meant.size(), step_transitions.size());
  EXPECT_EQ(plans.size(), plan_transitions.size());
}

using PlanAborts = PlanTest;

TEST_F(PlanAborts, OnWhatNoTableHas) {
  GTEST_FLAG_SET(death_test_style, "fast");
  begun_with(by_command(), {step("a"), step("b", {"a"})});
  for (const Event& event : plan_events()) {
    if (event_as<StepAttemptStarted>(event) || event_as<StepBlocked>(event) ||
        event_as<PlanReset>(event)) {
      continue;
    }
    EXPECT_DEATH(given({event}), "not true") << shown(event);
  }
}

}  // namespace
}  // namespace signalbox
