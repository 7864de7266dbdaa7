// The retry of a failed run: at the station that failed, and at no other.
#include <gtest/gtest.h>

#include "domain/evolve.h"
#include "tests/domain/given_when_then.h"

namespace signalbox {
namespace {

Event failed(std::string station, std::uint32_t attempt, ErrorClass error_class,
             std::string code = "X") {
  return StationEvent{StationFailed{std::move(station),
                                    attempt,
                                    {Outcome::failed, error_class, std::move(code), "it broke"},
                                    {}}};
}
Event run_failed(std::string station) {
  return RunEvent{RunFailed{std::move(station), ErrorClass::terminal, "X", "it broke"}};
}

class RunRetryTest : public GivenWhenThen {
 protected:
  const PipelineDefinition two{
      "two",
      {worker_station("a"),
       worker_station("b", {1, 0, {Strategy::original, Strategy::simplified}})}};

  // Like given(), and keeps the records for the retry.
  void given_log(const std::vector<Event>& past) {
    given(past);
    for (const Event& event : past) {
      Record record;
      record.position = static_cast<Position>(log.size()) + 1;
      record.stream = Stream::run(run);
      record.event = event;
      log.push_back(std::move(record));
    }
  }
  void given_failed_at_b() {
    given_log({started(two, "key"), claimed("a"), succeeded("a"), claimed("b"),
               failed("b", 1, ErrorClass::config), run_failed("b")});
  }
  [[nodiscard]] RetryRun retry(const PipelineDefinition& pipeline) const {
    RetryRun command;
    command.run_id = run;
    command.reason = "fixed the disk";
    command.failed = evolved_failed_run(log, pipeline);
    command.failed_at = log.back().position;
    return command;
  }
  [[nodiscard]] const RunRetried& retried() const {
    return *event_as<RunRetried>(events.at(0).event);
  }

  std::vector<Record> log;
};

TEST_F(RunRetryTest, StartsANewAttemptOfTheFailedStationAndNoOther) {  // S11
  given_failed_at_b();
  when(retry(two));
  then_names({"RunRetried"});
  EXPECT_EQ(events[0].cause, 6U);
  EXPECT_EQ(retried().station, "b");
  EXPECT_EQ(retried().reason, "fixed the disk");
  EXPECT_EQ(retried().attempts, (std::vector<std::uint32_t>{1, 1}));
  EXPECT_FALSE(retried().pipeline.has_value()) << "the world holds it";
  EXPECT_EQ(the_run().status, RunStatus::running);
  EXPECT_EQ(the_run().stations[0].status, StationStatus::succeeded);
  EXPECT_EQ(the_run().station().status, StationStatus::pending);
  EXPECT_EQ(the_run().station().failures, 0U);
  EXPECT_EQ(the_run().started_at, 1U);
  EXPECT_EQ(world.ended_runs.find(run), nullptr);

  when(claim_by("ann", {"a"}));
  then_nothing();
  when(claim_by("ann"));
  then({claimed("b", 2, Strategy::original, 120'000)});
  EXPECT_EQ(the_run().previous, "X: it broke");
}

TEST_F(RunRetryTest, HasAllItsRetriesAgain) {
  given_failed_at_b();
  when(retry(two));
  when(claim_by("ann"));
  const Token token = the_run().attempt->token;
  CompleteStation complete = end_of("b", token, Outcome::failed);
  complete.error_class = ErrorClass::transient;
  when(complete);
  then_names({"StationAttemptFailed"});
}

TEST_F(RunRetryTest, TakesTheBoundAndTheStrategyThatItIsGiven) {
  given_failed_at_b();
  RetryRun command = retry(two);
  command.max_retries = 0;
  command.strategy = Strategy::simplified;
  when(command);
  EXPECT_EQ(the_run().max_retries, 0U);
  when(claim_by("ann"));
  then({claimed("b", 2, Strategy::simplified, 120'000)});
}

TEST_F(RunRetryTest, OfARunThatTheWorldHasForgottenBringsAllAlong) {
  given_failed_at_b();
  const RetryRun command = retry(two);
  world = World{};
  world.position = 6;
  when(command);
  ASSERT_TRUE(retried().pipeline.has_value());
  EXPECT_EQ(*retried().pipeline, two);
  EXPECT_EQ(world.run_by_idempotency_key.at("key"), run);
  when(claim_by("ann"));
  then_names({"StationClaimed"});
}

TEST_F(RunRetryTest, TheKeyLeadsToTheRunAgain) {  // S2
  given_failed_at_b();
  when(retry(two));
  StartRun start;
  start.goal = "goal";
  start.idempotency_key = "key";
  start.request_digest = digest_of(1);
  start.run_id = uuid_of(9);
  when(start);
  then_nothing();
}

TEST_F(RunRetryTest, CanEndAndBeRetriedAgain) {
  given_failed_at_b();
  when(retry(two));
  const NewEvent first = events.front();
  log.push_back({7, first.stream, 0, "", "", {}, first.cause, {}, first.event});
  const auto again = [&](Event event) {
    log.push_back({log.back().position + 1, Stream::run(run), 0, "", "", {}, 0, {}, event});
    given({event});
  };
  again(claimed("b", 2));
  again(failed("b", 2, ErrorClass::transient));
  again(run_failed("b"));
  EXPECT_EQ(world.ended_runs.find(run)->ended_at, 10U);
  when(retry(two));
  EXPECT_EQ(retried().attempts, (std::vector<std::uint32_t>{1, 2}));
  EXPECT_EQ(the_run().stations[1].attempts, 2U);
}

TEST_F(RunRetryTest, WhoComesSecondIsTold) {
  given_failed_at_b();
  const RetryRun command = retry(two);
  when(command);
  when(command);
  then_rejected(ErrorCode::RUN_NOT_FAILED);
  EXPECT_EQ(rejection->next_commands.front(), "signalbox run why " + to_string(run));
  given({claimed("b", 2), failed("b", 2, ErrorClass::config), run_failed("b")});
  when(command);  // its records end with the earlier failure
  then_rejected(ErrorCode::RUN_NOT_FAILED);
}

// Whoever decided after an earlier failure hasn't seen the present one.
TEST_F(RunRetryTest, AnotherFailureThanTheOneThatIsMeantIsLeftAlone) {
  given_failed_at_b();
  RetryRun command = retry(two);
  command.failed_position = command.failed_at - 1;
  when(command);
  then_rejected(ErrorCode::RUN_NOT_FAILED);
  EXPECT_EQ(rejection->details.back(), (Detail{"failed_position", std::int64_t{6}}));
  command.failed_position = command.failed_at + 3;  // what follows a failure may be late usage
  when(command);
  then_names({"RunRetried"});
}

TEST_F(RunRetryTest, OnlyAFailedRunIsRetried) {
  when(RetryRun{run, {}, {}, {}, {}, nullptr, 0});
  then_rejected(ErrorCode::RUN_NOT_FOUND);
  given({started(two)});
  when(RetryRun{run, {}, {}, {}, {}, nullptr, 0});
  then_rejected(ErrorCode::RUN_NOT_FAILED);
  when(CancelRun{run, {}});
  when(RetryRun{run, {}, {}, {}, {}, nullptr, 0});
  then_rejected(ErrorCode::RUN_NOT_FAILED);
  EXPECT_EQ(rejection->next_commands.front(), "signalbox run get " + to_string(run));
}

TEST_F(RunRetryTest, GuardsAreAskedInTheirOrder) {
  given_failed_at_b();
  RetryRun command = retry(two);
  command.strategy = Strategy::decomposed;
  when(command);
  then_rejected(ErrorCode::INVALID_PARAMS);
  EXPECT_EQ(rejection->details.back().key, "strategies");
  command.run_id = uuid_of(7);
  command.failed = nullptr;
  when(command);
  then_rejected(ErrorCode::RUN_NOT_FOUND);
  command.reason = std::string(limits::reason_bytes_max + 1, 'x');
  when(command);
  then_rejected(ErrorCode::LIMIT_EXCEEDED);
}

TEST_F(RunRetryTest, ARejectedApprovalIsAskedAgain) {
  StationDefinition ask = worker_station("ask");
  ask.executor = ExecutorKind::approval;
  const PipelineDefinition asked{"asked", {ask, worker_station("a")}};
  given_log({started(asked), StationEvent{StationHeld{"ask", WaitReason::approval, "?"}},
             StationEvent{StationRejected{"ask", "no"}}, run_failed("ask")});
  when(retry(asked));
  then_names({"RunRetried", "StationHeld"});
  EXPECT_EQ(the_run().station().waiting, WaitReason::approval);
  EXPECT_EQ(the_run().previous, "REJECTED: no");
}

TEST_F(RunRetryTest, AUsedUpBudgetHoldsIt) {
  Event start = started(two);
  std::get<RunStarted>(std::get<RunEvent>(start)).budget = {0, 0, 5};
  given_log({start, claimed("a"), StationEvent{StationUsageReported{"a", 1, {0, 0, 6}}},
             failed("a", 1, ErrorClass::config), run_failed("a")});
  when(retry(two));
  then_names({"RunRetried", "StationHeld"});
  EXPECT_EQ(the_run().used.turns, 6);
  EXPECT_EQ(the_run().station().waiting, WaitReason::budget);
}

TEST_F(RunRetryTest, ALockThatAnAttemptHeldIsNoMatterOfItsOwn) {
  Event with_lock = claimed("a");
  std::get<StationClaimed>(std::get<StationEvent>(with_lock)).lock_token = 77;
  log.push_back({1, Stream::run(run), 0, "", "", {}, 0, {}, started(two)});
  log.push_back({2, Stream::run(run), 0, "", "", {}, 0, {}, with_lock});
  log.push_back({3, Stream::run(run), 0, "", "", {}, 0, {}, failed("a", 1, ErrorClass::lost)});
  log.push_back({4, Stream::run(run), 0, "", "", {}, 0, {}, run_failed("a")});
  const auto folded = evolved_failed_run(log, two);
  ASSERT_NE(folded, nullptr);
  EXPECT_EQ(folded->stations[0].attempts, 1U);
  log.pop_back();
  EXPECT_EQ(evolved_failed_run(log, two), nullptr) << "it hasn't failed";
}

// The completed steps of a deep_work station stay completed; the others begin again. D7
TEST_F(RunRetryTest, BringsThePlanOfDeepWorkBack) {
  StationDefinition station;
  station.name = "b";
  station.executor = ExecutorKind::deep_work;
  station.deep_work.emplace().step.command = {"true"};
  const PipelineDefinition deep{"deep", {station}};
  const Failure failure{Outcome::failed, ErrorClass::terminal, "X", "it broke"};
  const StepDefinition first{"first", "", StepType::implement, {}, StepEffort::medium};
  const StepDefinition second{"second", "", StepType::test, {"first"}, StepEffort::medium};
  const StepDefinition third{"third", "", StepType::review, {"second"}, StepEffort::small};
  const auto begun = [](std::string step) {
    return PlanEvent{
        StepAttemptStarted{"b", std::move(step), 1, Strategy::original, "deep_work", 0}};
  };
  given_log({started(deep), dispatched("b"), intended("b"),
             PlanEvent{ExplorationFinished{"b", {"found", {"a.cc"}, {}}, 0, 0}},
             PlanEvent{PlanSet{"b", {first, second, third}, 2}}, begun("first"),
             PlanEvent{StepCompleted{"first", 1, "done"}}, begun("second"),
             PlanEvent{StepFailed{"second", 1, "RETRY_EXHAUSTED", failure}},
             PlanEvent{StepBlocked{"third", "second"}}, failed("b", 1, ErrorClass::terminal),
             run_failed("b")});
  when(retry(deep));
  then_names({"RunRetried", "ExplorationFinished", "PlanRestored"});
  const Plan& plan = *the_run().plan;
  EXPECT_EQ(plan.status, PlanStatus::set);
  EXPECT_EQ(plan.cut, 2U);
  EXPECT_EQ(plan.exploration.files, (std::vector<std::string>{"a.cc"}));
  EXPECT_EQ(plan.find("first")->status, StepStatus::completed);
  EXPECT_EQ(plan.find("second")->status, StepStatus::pending);
  EXPECT_EQ(plan.find("second")->attempts, 1U);
  EXPECT_EQ(plan.find("third")->status, StepStatus::pending);
  EXPECT_TRUE(world.planned.contains(run));
  when(DispatchStation{run, {}});
  then_names({"StationClaimed", "StationSubmitIntended"});
  when(NextStep{"deep_work", run, the_run().attempt->token, {}, {}});
  then({PlanEvent{StepAttemptStarted{"b", "second", 2, Strategy::original, "deep_work", 0}}});
}

// Each of two plans fits into a record, and both together don't. D7, G1
TEST_F(RunRetryTest, BringsWhatIsLeftOfSeveralLongPlansBack) {
  StationDefinition station;
  station.name = "b";
  station.executor = ExecutorKind::deep_work;
  station.deep_work.emplace().step.command = {"true"};
  const PipelineDefinition deep{"deep", {station}};
  const Failure failure{Outcome::failed, ErrorClass::terminal, "X", "it broke"};
  const std::string text(limits::plan_bytes_max - 1000, 'x');
  const StepDefinition first{"first", text, StepType::implement, {}, StepEffort::medium};
  const StepDefinition second{"second", text, StepType::test, {"first"}, StepEffort::medium};
  const auto begun = [](std::string step) {
    return PlanEvent{
        StepAttemptStarted{"b", std::move(step), 1, Strategy::original, "deep_work", 0}};
  };
  given_log({started(deep), dispatched("b"), intended("b"),
             PlanEvent{ExplorationFinished{"b", {"found", {}, {}}, 0, 0}},
             PlanEvent{PlanSet{"b", {first}, 0}}, begun("first"),
             PlanEvent{StepCompleted{"first", 1, "done"}}, PlanEvent{PlanReset{"b", "again"}},
             PlanEvent{PlanSet{"b", {second}, 0}}, begun("second"),
             PlanEvent{StepFailed{"second", 1, "RETRY_EXHAUSTED", failure}},
             failed("b", 1, ErrorClass::terminal), run_failed("b")});
  when(retry(deep));
  then_names({"RunRetried", "ExplorationFinished", "PlanRestored"});
  const Plan& plan = *the_run().plan;
  EXPECT_EQ(plan.find("first")->status, StepStatus::completed);
  EXPECT_LT(plan.find("first")->definition.description.size(), 100U);
  EXPECT_EQ(plan.find("second")->definition, second) << "it is still to be done";
}

// With all its steps completed, the next attempt would pass on what was rejected. D7, G10
TEST_F(RunRetryTest, PlansRejectedDeepWorkAnew) {
  StationDefinition station;
  station.name = "b";
  station.executor = ExecutorKind::deep_work;
  station.deep_work.emplace().step.command = {"true"};
  const PipelineDefinition deep{"deep", {station}};
  const StepDefinition only{"only", "", StepType::implement, {}, StepEffort::medium};
  given_log({started(deep), dispatched("b"), intended("b"),
             PlanEvent{ExplorationFinished{"b", {"found", {"a.cc"}, {}}, 0, 0}},
             PlanEvent{PlanSet{"b", {only}, 0}},
             PlanEvent{StepAttemptStarted{"b", "only", 1, Strategy::original, "deep_work", 0}},
             PlanEvent{StepCompleted{"only", 1, "done"}},
             StationEvent{StationApprovalRequested{"b", 1, "may I?"}},
             StationEvent{StationResultHeld{"b", 1, {}}},
             StationEvent{StationRejected{"b", "not that"}}, run_failed("b")});
  when(retry(deep));
  then_names({"RunRetried", "ExplorationFinished"});
  EXPECT_EQ(the_run().plan->status, PlanStatus::planning);
  EXPECT_EQ(the_run().plan->exploration.files, (std::vector<std::string>{"a.cc"}));
  EXPECT_TRUE(the_run().plan->steps.empty());
  EXPECT_EQ(the_run().previous, "REJECTED: not that");
  when(DispatchStation{run, {}});
  then_names({"StationClaimed", "StationSubmitIntended"});
  CompleteStation complete = end_of("b", the_run().attempt->token);
  complete.from_executor = true;
  when(complete);
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(event_as<StationSucceeded>(events.front().event), nullptr) << "nothing was done again";
}

// What the next attempt needs of its beginning is in the event, for a log that has no other.
TEST_F(RunRetryTest, TheEventHasWhereTheRunWorks) {  // S11
  RunStarted start = *event_as<RunStarted>(started(two));
  start.repository = "/srv/site";
  start.base = "main";
  start.run_root = "/srv/root";
  given_log({RunEvent{start}, claimed("a"), failed("a", 1, ErrorClass::config), run_failed("a")});
  when(retry(two));
  EXPECT_EQ(retried().repository, "/srv/site");
  EXPECT_EQ(retried().base, "main");
  EXPECT_EQ(retried().run_root, "/srv/root");
  EXPECT_EQ(the_run().repository, "/srv/site");
  EXPECT_EQ(the_run().base, "main");
  EXPECT_EQ(the_run().run_root, "/srv/root");
}

}  // namespace
}  // namespace signalbox
