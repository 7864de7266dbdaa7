// A run waits for a person because its budget is used up.
#include "domain/station_turn.h"
#include "tests/domain/approval_fixture.h"

namespace signalbox {
namespace {

class BudgetTest : public ApprovalFixture {
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
            "signalbox run resume " + to_string(run) + " --max-cost-usd 5.5 --max-tokens 200");
}

// A budget of a cent isn't offered a dollar.
TEST_F(BudgetTest, ThatIsSmallIsRaisedByWhatItWas) {
  EXPECT_EQ(raised_budget_flags({10'000, 0, 0}, {10'400, 0, 0}), "--max-cost-usd 0.0204");
  EXPECT_EQ(raised_budget_flags({1, 0, 0}, {1, 0, 0}), "--max-cost-usd 0.000002");
  EXPECT_EQ(raised_budget_flags({1'000'000, 0, 0}, {2'000'000, 0, 0}), "--max-cost-usd 3");
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

}  // namespace
}  // namespace signalbox
