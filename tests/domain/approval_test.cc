// A run waits for a person's decision at an approval station.
#include "tests/domain/approval_fixture.h"

namespace signalbox {
namespace {

class DecisionTest : public ApprovalFixture {};

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
  EXPECT_EQ(rejection->next_commands.front(), "signalbox run resume " + to_string(run) +
                                                  " --station ask --decision approve --asked 2");
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

TEST_F(DecisionTest, IsAboutTheQuestionThatItNames) {  // G10
  given({started({"p", {approval_station("one"), approval_station("two")}}), held("one")});
  when(decision_of(1, Decision::approve));
  then_rejected(ErrorCode::NOT_WAITING_FOR_APPROVAL);
  EXPECT_EQ(the_run().asked_at, 2U);
  when(decision_of(2, Decision::approve));
  then({approved("one"), held("two")});
  EXPECT_EQ(events.front().cause, 2U) << "the log says which question was answered";
  EXPECT_EQ(the_run().asked_at, 4U);
  for (const Decision each : {Decision::approve, Decision::reject}) {
    when(decision_of(2, each));
    then_rejected(ErrorCode::NOT_WAITING_FOR_APPROVAL);
  }
  when(decision_of(4, Decision::reject));
  then_names({"StationRejected", "RunFailed"});
  EXPECT_EQ(events.front().cause, 4U);
}

TEST_F(DecisionTest, AQuestionIsNamedWithADecisionOnly) {  // G10
  given({started({"p", {approval_station("ask")}}), held("ask"), RunEvent{RunPaused{"lunch"}}});
  ResumeRun command{run, {}, {}, {}};
  command.asked = 2;
  when(command);
  then_rejected(ErrorCode::INVALID_PARAMS);
  EXPECT_EQ(the_run().status, RunStatus::paused);
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

}  // namespace
}  // namespace signalbox
