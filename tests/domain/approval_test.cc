// A run waits for a person: at an approval station, and when its budget is used up.
#include <gtest/gtest.h>

#include "domain/limits.h"
#include "tests/domain/given_when_then.h"

namespace signalbox {
namespace {

StationDefinition approval_station(std::string name) {
  StationDefinition station = worker_station(std::move(name));
  station.executor = ExecutorKind::approval;
  return station;
}

Event held(std::string station, WaitReason reason = WaitReason::approval,
           std::string note = "a decision is asked for") {
  return StationEvent{StationHeld{std::move(station), reason, std::move(note)}};
}
Event approved(std::string station, std::string reason = "") {
  return StationEvent{StationApproved{std::move(station), std::move(reason)}};
}

class DecisionTest : public GivenWhenThen {
 protected:
  void when_completed(const std::string& station, Token token, Usage usage = {},
                      Outcome outcome = Outcome::succeeded) {
    CompleteStation complete = end_of(station, token, outcome);
    if (usage != Usage{}) complete.usage = usage;
    when(complete);
  }
  [[nodiscard]] ResumeRun decision(Decision decided, std::string reason = "") const {
    return {run, std::move(reason), decided, {}};
  }
};

TEST_F(DecisionTest, ARunWhoseFirstStationAsksWaitsFromItsStart) {  // S11
  StartRun start;
  start.goal = "goal";
  start.run_id = run;
  start.pipeline = PipelineDefinition{"p", {approval_station("ask"), worker_station("a")}};
  when(start);
  then_names({"RunStarted", "StationHeld"});
  EXPECT_EQ(the_run().status, RunStatus::queued);
  when(claim_by("ann"));
  then_nothing();
  when(decision(Decision::approve, "looks right"));
  then({approved("ask", "looks right")});
  EXPECT_EQ(the_run().status, RunStatus::running);
  when(claim_by("ann"));
  then_names({"StationClaimed"});
}

TEST_F(DecisionTest, TheTurnOfOneInTheMiddleComesWithTheSuccessBefore) {  // S11
  given({started({"p", {worker_station("a"), approval_station("ask"), worker_station("b")}}),
         claimed("a")});
  when_completed("a", 2);
  then({succeeded("a"), held("ask")});
  EXPECT_EQ(the_run().status, RunStatus::running);
  EXPECT_EQ(the_run().station().waiting, WaitReason::approval);
  when(decision(Decision::approve));
  then({approved("ask")});
  when(claim_by("ann", {"b"}));
  then_names({"StationClaimed"});
}

TEST_F(DecisionTest, TheLastOneEndsTheRunInTheSameCommit) {  // S11
  given({started({"p", {worker_station("a"), approval_station("ask")}}), claimed("a"),
         succeeded("a"), held("ask")});
  when(decision(Decision::approve));
  then({approved("ask"), run_succeeded()});
  EXPECT_EQ(world.find_run(run), nullptr);
}

TEST_F(DecisionTest, TwoInARowAreAskedOneAfterTheOther) {
  given({started({"p", {approval_station("one"), approval_station("two")}}), held("one")});
  when(decision(Decision::approve));
  then({approved("one"), held("two")});
  when(decision(Decision::approve));
  then({approved("two"), run_succeeded()});
}

TEST_F(DecisionTest, ARejectionFailsTheRun) {  // S11
  given({started({"p", {approval_station("ask"), worker_station("a")}}), held("ask")});
  when(decision(Decision::reject, "too risky"));
  then({StationEvent{StationRejected{"ask", "too risky"}},
        RunEvent{RunFailed{"ask", ErrorClass::terminal, "REJECTED", "too risky"}}});
  EXPECT_EQ(world.ended_runs.find(run)->status, RunStatus::failed);
}

TEST_F(DecisionTest, OfAPausedRunResumesIt) {
  given({started({"p", {approval_station("ask"), worker_station("a")}}), held("ask"),
         RunEvent{RunPaused{"lunch"}}});
  when(ResumeRun{run, {}, {}, {}});
  then({RunEvent{RunResumed{""}}});
  EXPECT_EQ(the_run().station().status, StationStatus::waiting);
  when(PauseRun{run, {}});
  when(decision(Decision::approve));
  then({approved("ask"), RunEvent{RunResumed{""}}});
  when(claim_by("ann"));
  then_names({"StationClaimed"});
}

TEST_F(DecisionTest, ARejectionOfAPausedRunEndsItAndResumesNothing) {
  given({started({"p", {approval_station("ask")}}), held("ask"), RunEvent{RunPaused{"lunch"}}});
  when(decision(Decision::reject));
  then_names({"StationRejected", "RunFailed"});
}

TEST_F(DecisionTest, IsAskedForWhereNoneIsGiven) {
  given({started({"p", {approval_station("ask")}}), held("ask")});
  when(ResumeRun{run, {}, {}, {}});
  then_rejected(ErrorCode::DECISION_REQUIRED);
  EXPECT_EQ(rejection->next_commands.front(),
            "signalbox run resume " + to_string(run) + " --station ask --decision approve");
}

TEST_F(DecisionTest, IsRefusedWhereNoneIsAsked) {
  given({started({"p", {worker_station("a"), approval_station("ask")}})});
  when(decision(Decision::approve));
  then_rejected(ErrorCode::NOT_WAITING_FOR_APPROVAL);
  when(claim_by("ann"));
  when(decision(Decision::reject));
  then_rejected(ErrorCode::NOT_WAITING_FOR_APPROVAL);
}

// A decision based on a view from before another decision must not apply to the next approval.
TEST_F(DecisionTest, IsAboutTheStationThatItNames) {
  given({started({"p", {approval_station("one"), approval_station("two")}}), held("one")});
  ResumeRun seen_one = decision(Decision::approve);
  seen_one.station = "one";
  when(seen_one);
  then({approved("one"), held("two")});
  for (const Decision each : {Decision::approve, Decision::reject}) {
    seen_one.decision = each;
    when(seen_one);
    then_rejected(ErrorCode::NOT_WAITING_FOR_APPROVAL);
    EXPECT_EQ(rejection->details[1], (Detail{"station", std::string("two")}));
    EXPECT_EQ(rejection->details[2], (Detail{"station_status", std::string("waiting")}));
    EXPECT_EQ(rejection->details[3], (Detail{"decided_station", std::string("one")}));
    EXPECT_EQ(rejection->next_commands.front(), "signalbox run why " + to_string(run));
  }
  ResumeRun seen_two = decision(Decision::approve);
  seen_two.station = "two";
  when(seen_two);
  then({approved("two"), run_succeeded()});
}

TEST_F(DecisionTest, OfAPausedRunIsAboutTheStationThatItNamesToo) {
  given({started({"p", {approval_station("ask")}}), held("ask"), RunEvent{RunPaused{"lunch"}}});
  ResumeRun other = decision(Decision::approve);
  other.station = "before";
  when(other);
  then_rejected(ErrorCode::NOT_WAITING_FOR_APPROVAL);
  EXPECT_EQ(the_run().status, RunStatus::paused);
}

TEST_F(DecisionTest, AStationIsNamedWithADecisionOnly) {
  given({started({"p", {approval_station("ask")}}), held("ask")});
  ResumeRun command{run, {}, {}, {}};
  command.station = "ask";
  when(command);
  then_rejected(ErrorCode::INVALID_PARAMS);
  command.decision = Decision::approve;
  command.station = "";
  when(command);
  then_rejected(ErrorCode::INVALID_PARAMS);
}

TEST_F(DecisionTest, TakenTwiceCountsOnce) {
  given({started({"p", {approval_station("ask"), worker_station("a")}}), held("ask")});
  when(decision(Decision::approve));
  when(decision(Decision::reject));
  then_rejected(ErrorCode::NOT_WAITING_FOR_APPROVAL);
}

TEST_F(DecisionTest, AWaitForAPersonEndsWithNoTimer) {
  given({started({"p", {approval_station("ask")}}), held("ask")});
  when(WakeStation{run});
  then_nothing();
}

TEST_F(DecisionTest, ACanceledRunIsAskedNothing) {
  given({started({"p", {approval_station("ask")}}), held("ask")});
  when(CancelRun{run, {}});
  then_names({"StationCanceled", "RunCanceled"});
  when(decision(Decision::approve));
  then_rejected(ErrorCode::RUN_TERMINAL);
}

class BudgetTest : public DecisionTest {
 protected:
  static Event started_with(Budget budget, std::vector<StationDefinition> stations) {
    Event event = started({"p", std::move(stations)});
    std::get<RunStarted>(std::get<RunEvent>(event)).budget = budget;
    return event;
  }
};

TEST_F(BudgetTest, UsedUpKeepsTheNextStationFromStarting) {  // S7
  given({started_with({0, 0, 10}, {worker_station("a"), worker_station("b")}), claimed("a")});
  when_completed("a", 2, {5, 6, 10});
  then_names({"StationUsageReported", "StationSucceeded", "StationHeld"});
  EXPECT_EQ(the_run().station().waiting, WaitReason::budget);
  EXPECT_EQ(the_run().used, (Usage{5, 6, 10}));
  when(claim_by("ann"));
  then_nothing();
}

TEST_F(BudgetTest, OneBelowItsBoundGoesOn) {
  given({started_with({0, 0, 10}, {worker_station("a"), worker_station("b")}), claimed("a")});
  when_completed("a", 2, {0, 0, 9});
  then_names({"StationUsageReported", "StationSucceeded"});
  when(claim_by("ann"));
  then_names({"StationClaimed"});
}

TEST_F(BudgetTest, KeepsARetryFromStarting) {
  given({started_with({0, 100, 0},
                      {worker_station("a", {3, 0, {Strategy::original, Strategy::simplified}})}),
         claimed("a")});
  when_completed("a", 2, {0, 100, 0}, Outcome::failed);
  then_names({"StationUsageReported", "StationAttemptFailed"});
  when(WakeStation{run});
  then_names({"StationHeld"});
  EXPECT_EQ(the_run().station().waiting, WaitReason::budget);
}

TEST_F(BudgetTest, RaisedLetsTheStationGo) {  // S11
  given({started_with({0, 0, 10}, {worker_station("a"), worker_station("b")}), claimed("a")});
  when_completed("a", 2, {0, 0, 10});
  when(ResumeRun{run, "worth it", {}, Budget{0, 0, 20}});
  then({RunEvent{RunBudgetRaised{{0, 0, 20}, "worth it"}}, StationEvent{StationReady{"b"}}});
  when(claim_by("ann"));
  then_names({"StationClaimed"});
}

TEST_F(BudgetTest, ThatIsUsedUpAlreadyIsRefused) {
  given({started_with({0, 0, 10}, {worker_station("a"), worker_station("b")}), claimed("a")});
  when_completed("a", 2, {0, 0, 15});
  when(ResumeRun{run, {}, {}, Budget{0, 0, 15}});
  then_rejected(ErrorCode::BUDGET_EXHAUSTED);
  EXPECT_EQ(rejection->next_commands.front(),
            "signalbox run resume " + to_string(run) + " --max-turns 30");
  when(ResumeRun{run, {}, {}, {}});
  then_rejected(ErrorCode::BUDGET_EXHAUSTED);
  when(ResumeRun{run, {}, {}, Budget{-1, 0, 0}});
  then_rejected(ErrorCode::INVALID_PARAMS);
}

TEST_F(BudgetTest, WhatIsUsedUpIsRaisedAndNothingElse) {
  given({started_with({2'500'000, 100, 50}, {worker_station("a"), worker_station("b")}),
         claimed("a")});
  when_completed("a", 2, {3'000'000, 100, 3});
  when(ResumeRun{run, {}, {}, {}});
  then_rejected(ErrorCode::BUDGET_EXHAUSTED);
  EXPECT_EQ(rejection->next_commands.front(),
            "signalbox run resume " + to_string(run) + " --max-cost-usd 6 --max-tokens 200");
}

TEST_F(BudgetTest, IsRaisedAheadOfItsEnd) {
  given({started_with({0, 0, 10}, {worker_station("a")})});
  when(ResumeRun{run, {}, {}, Budget{0, 0, 20}});
  then({RunEvent{RunBudgetRaised{{0, 0, 20}, ""}}});
  EXPECT_EQ(the_run().status, RunStatus::queued);
  when(ResumeRun{run, {}, {}, Budget{0, 0, 20}});
  then_nothing();
}

TEST_F(BudgetTest, OfAPausedRunIsRaisedAndItGoesOn) {
  given({started_with({0, 0, 10}, {worker_station("a"), worker_station("b")}), claimed("a")});
  when_completed("a", 2, {0, 0, 10});
  when(PauseRun{run, {}});
  when(ResumeRun{run, {}, {}, Budget{0, 0, 20}});
  then_names({"RunBudgetRaised", "StationReady", "RunResumed"});
  when(claim_by("ann"));
  then_names({"StationClaimed"});
}

TEST_F(BudgetTest, ComesBeforeTheDecisionThatIsSaidWithIt) {
  given({started_with({0, 0, 10},
                      {worker_station("a"), approval_station("ask"), worker_station("b")}),
         claimed("a")});
  when_completed("a", 2, {0, 0, 10});
  when(ResumeRun{run, "", Decision::approve, Budget{0, 0, 20}});
  then({RunEvent{RunBudgetRaised{{0, 0, 20}, ""}}, approved("ask")});
  when(claim_by("ann"));
  then_names({"StationClaimed"});
}

TEST_F(BudgetTest, ARejectionThatComesWithOneEndsTheRun) {
  given({started({"p", {approval_station("ask")}}), held("ask")});
  when(ResumeRun{run, "", Decision::reject, Budget{0, 0, 20}});
  then_names({"RunBudgetRaised", "StationRejected", "RunFailed"});
}

// An attempt asks for an approval of its own run.
class RequestTest : public DecisionTest {
 protected:
  static constexpr Token token = 2;
  [[nodiscard]] RequestApproval request(std::string question = "may I?") const {
    return {run, "a", token, std::move(question)};
  }
  static Event requested() { return StationEvent{StationApprovalRequested{"a", 1, "may I?"}}; }
  static Event result_held() { return StationEvent{StationResultHeld{"a", 1, {}}}; }
  // A run whose first attempt is under way; `job`: the service executes it.
  void given_attempt(bool job = false) {
    StationDefinition first = worker_station("a");
    if (job) {
      first.executor = ExecutorKind::process;
      first.command = {"true"};
    }
    const PipelineDefinition pipeline{"p", {first, worker_station("b")}};
    if (job) {
      given({started(pipeline), dispatched("a"), intended("a")});
    } else {
      given({started(pipeline), claimed("a")});
    }
  }
};

TEST_F(RequestTest, IsApprovedWhileTheAttemptGoesOn) {  // G10
  given_attempt();
  when(request());
  then({requested()});
  EXPECT_EQ(the_run().station().status, StationStatus::waiting);
  EXPECT_EQ(the_run().station().waiting, WaitReason::approval);
  EXPECT_TRUE(the_run().attempt.has_value());
  when(request("and now?"));
  then_nothing();
  when(ResumeRun{run, {}, {}, {}});
  then_rejected(ErrorCode::DECISION_REQUIRED);
  when(decision(Decision::approve, "go on"));
  then({StationEvent{StationApprovalGiven{"a", 1, "go on"}}});
  EXPECT_EQ(the_run().station().status, StationStatus::running);
  when_completed("a", token);
  then({succeeded("a")});
}

TEST_F(RequestTest, HoldsTheResultOfAnAttemptThatDidntWait) {  // G10
  given_attempt();
  when(request());
  when_completed("a", token);
  then({result_held()});
  EXPECT_FALSE(the_run().attempt.has_value());
  when(claim_by("ann"));
  then_nothing();
  when(WakeStation{run});
  then_nothing();
  when_completed("a", token);
  then_rejected(ErrorCode::STALE_TOKEN);
  when(decision(Decision::approve, "fine"));
  then({approved("a", "fine")});
  when(claim_by("ann"));
  then_names({"StationClaimed"});
  EXPECT_EQ(the_run().definition().name, "b");
}

TEST_F(RequestTest, AtTheLastStationEndsTheRunWithTheDecision) {  // G10
  given({started({"p", {worker_station("a")}}), claimed("a"), requested(), result_held()});
  when(decision(Decision::approve));
  then({approved("a"), run_succeeded()});
}

TEST_F(RequestTest, IsRejectedAfterItsAttempt) {  // G10
  given_attempt();
  when(request());
  when_completed("a", token);
  when(decision(Decision::reject, "not that"));
  then({StationEvent{StationRejected{"a", "not that"}},
        RunEvent{RunFailed{"a", ErrorClass::terminal, "REJECTED", "not that"}}});
}

// A job has to be ended before its run is over; a worker learns it with its next word.
TEST_F(RequestTest, RejectedDuringItsAttemptCancelsTheRun) {  // G10
  given_attempt(/*job=*/true);
  when(request());
  then({requested()});
  when(decision(Decision::reject, "not that"));
  then({RunEvent{RunCancelRequested{"not that"}}});
  when(ConfirmCancel{run, token, {}});
  then_names({"CancelConfirmed", "StationCanceled", "RunCanceled"});
}

TEST_F(RequestTest, OfAWorkerRejectedDuringItsAttemptCancelsAtOnce) {  // G10
  given_attempt();
  when(request());
  when(PauseRun{run, {}});
  when(decision(Decision::reject));
  then({StationEvent{StationCanceled{"a"}}, RunEvent{RunCanceled{"the approval was refused"}}});
}

TEST_F(RequestTest, EndsWithAnAttemptThatFails) {  // G10
  given_attempt();
  when(request());
  CompleteStation failed = end_of("a", token, Outcome::failed);
  failed.error_class = ErrorClass::transient;
  when(failed);
  then_names({"StationAttemptFailed"});
  when(decision(Decision::approve));
  then_rejected(ErrorCode::NOT_WAITING_FOR_APPROVAL);
  when(WakeStation{run});
  then_names({"StationReady"});
}

TEST_F(RequestTest, IsTakenFromTheHolderAloneAndHasAQuestion) {  // G10
  given_attempt();
  RequestApproval stale = request();
  stale.token = token + 1;
  when(stale);
  then_rejected(ErrorCode::STALE_TOKEN);
  when(request(""));
  then_rejected(ErrorCode::INVALID_PARAMS);
  when(request(std::string(limits::reason_bytes_max + 1, 'x')));
  then_rejected(ErrorCode::LIMIT_EXCEEDED);
}

// Whoever waits for a person isn't stalled.
TEST_F(RequestTest, IsNoStall) {  // G10
  given_attempt();
  when(HeartbeatStation{run, "a", token, {}, "half"});
  const Position progress = the_run().attempt->last_progress_at;
  when(request());
  when(StallStation{run, token, progress, 0, 1000});
  then_nothing();
  when(HeartbeatStation{run, "a", token, {}, "more"});
  then_names({"StationHeartbeat"});
  EXPECT_EQ(the_run().station().waiting, WaitReason::approval);
}

}  // namespace
}  // namespace signalbox
