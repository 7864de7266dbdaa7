// An attempt asks a person for an approval of its own run.
#include "domain/limits.h"
#include "tests/domain/approval_fixture.h"

namespace signalbox {
namespace {

class RequestTest : public ApprovalFixture {
 protected:
  static constexpr Token token = 2;
  [[nodiscard]] RequestApproval request(std::string question = "may I?") const {
    return {run, "a", token, std::move(question)};
  }
  static Event requested() { return StationEvent{StationApprovalRequested{"a", 1, "may I?"}}; }
  static Event result_held() { return StationEvent{StationResultHeld{"a", 1, {}}}; }
  // The latest event fails the run because of a rejection.
  void expect_rejected(const std::string& reason) {
    ASSERT_FALSE(events.empty());
    const auto* failed = event_as<RunFailed>(events.back().event);
    ASSERT_NE(failed, nullptr);
    EXPECT_EQ(failed->code, "REJECTED");
    EXPECT_EQ(failed->message, reason);
  }
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
  EXPECT_EQ(rejection->next_commands,
            std::vector<std::string>{"signalbox run why " + to_string(run)})
      << "it can't be claimed";
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

// The run fails as it does after the attempt. A job has to be ended before its run is over; a
// worker learns it with its next word.
TEST_F(RequestTest, RejectedDuringItsAttemptFailsTheRunWhenItsJobHasEnded) {  // G10
  given_attempt(/*job=*/true);
  when(request());
  then({requested()});
  when(decision(Decision::reject, "not that"));
  then({RunEvent{RunCancelRequested{"not that", true}}});
  when(decision(Decision::reject, "once more"));
  then_nothing();
  when(decision(Decision::approve, "after all"));
  then_rejected(ErrorCode::NOT_WAITING_FOR_APPROVAL);
  when(ConfirmCancel{run, token, {}});
  then_names({"CancelConfirmed", "StationFailed", "RunFailed"});
  expect_rejected("not that");
  EXPECT_EQ(world.ended_runs.find(run)->status, RunStatus::failed);
}

// A job that has succeeded meanwhile fails with the rejection as well.
TEST_F(RequestTest, RejectedDuringItsAttemptIsntPassedByItsResult) {  // G10
  given_attempt(/*job=*/true);
  when(request());
  when(decision(Decision::reject, "not that"));
  CompleteStation late = end_of("a", token);
  late.from_executor = true;
  when(late);
  then_names({"CancelConfirmed", "StationFailed", "RunFailed"});
}

// What the job has used up until its end is the run's, which a retry may go on with.
TEST_F(RequestTest, RejectedDuringItsAttemptKeepsWhatTheJobUsed) {  // G10
  const Event reported = StationEvent{StationUsageReported{"a", 1, {3, 200, 4}}};
  for (const bool is_late : {false, true}) {
    world = World{};
    given_attempt(/*job=*/true);
    when(request());
    when(decision(Decision::reject, "not that"));
    if (is_late) {
      CompleteStation late = end_of("a", token);
      late.from_executor = true;
      late.usage = Usage{3, 200, 4};
      when(late);
    } else {
      when(ConfirmCancel{run, token, {}, /*unconfirmed=*/false, {3, 200, 4}});
    }
    then_names({"StationUsageReported", "CancelConfirmed", "StationFailed", "RunFailed"});
    ASSERT_FALSE(events.empty());
    EXPECT_EQ(events.front().event, reported);
    EXPECT_EQ(events.front().cause, token);
  }
}

TEST_F(RequestTest, CanceledDuringItsAttemptIsCanceled) {  // G10
  given_attempt(/*job=*/true);
  when(request());
  when(CancelRun{run, "enough"});
  then({RunEvent{RunCancelRequested{"enough", false}}});
  when(decision(Decision::approve));
  then_rejected(ErrorCode::NOT_WAITING_FOR_APPROVAL);
  when(ConfirmCancel{run, token, {}});
  then_names({"CancelConfirmed", "StationCanceled", "RunCanceled"});
}

// A rejected run may be retried, and a canceled one never.
TEST_F(RequestTest, CanceledWhileARejectionEndsItsJobIsCanceled) {  // G10
  given_attempt(/*job=*/true);
  when(request());
  when(decision(Decision::reject, "not that"));
  actor = "uid:2000";
  when(CancelRun{run, "it isn't wanted any more"});
  then({RunEvent{RunCancelRequested{"it isn't wanted any more", false}}});
  when(CancelRun{run, "once more"});
  then_nothing();
  when(decision(Decision::reject, "still not that"));
  then_nothing();
  EXPECT_EQ(the_run().cancel_reason, "it isn't wanted any more");
  when(ConfirmCancel{run, token, {}});
  then_names({"CancelConfirmed", "StationCanceled", "RunCanceled"});
}

TEST_F(RequestTest, OfAWorkerRejectedDuringItsAttemptFailsTheRunAtOnce) {  // G10
  given_attempt();
  when(request());
  when(PauseRun{run, {}});
  when(decision(Decision::reject));
  then_names({"RunCancelRequested", "StationFailed", "RunFailed"});
  expect_rejected("the approval was refused");
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

// What was decided about the question of one attempt is no decision about that of the next.
TEST_F(RequestTest, IsDecidedForItsOwnAttemptOnly) {  // G10
  given_attempt();
  when(request("may I drop the table?"));
  const Position first = the_run().asked_at;
  EXPECT_EQ(first, 3U);
  CompleteStation failed = end_of("a", token, Outcome::failed);
  failed.error_class = ErrorClass::transient;
  when(failed);
  EXPECT_EQ(the_run().asked_at, 0U);
  when(WakeStation{run});
  when(claim_by("ann"));
  then_names({"StationClaimed"});
  when(RequestApproval{run, "a", the_run().attempt->token, "may I wipe the disk?"});
  then_names({"StationApprovalRequested"});
  const Position second = the_run().asked_at;
  EXPECT_GT(second, first);
  for (const Decision each : {Decision::approve, Decision::reject}) {
    ResumeRun seen_first = decision_of(first, each);
    seen_first.station = "a";
    when(seen_first);
    then_rejected(ErrorCode::NOT_WAITING_FOR_APPROVAL);
    EXPECT_NE(rejection->message.find("position " + std::to_string(second)), std::string::npos)
        << rejection->message;
    EXPECT_EQ(rejection->details[3], (Detail{"asked", static_cast<std::int64_t>(second)}));
    EXPECT_EQ(rejection->details[4], (Detail{"decided_asked", static_cast<std::int64_t>(first)}));
    const std::string resume =
        "signalbox run resume " + to_string(run) + " --station a --decision ";
    const std::string asked = " --asked " + std::to_string(second);
    EXPECT_EQ(
        rejection->next_commands,
        (std::vector<std::string>{"signalbox run why " + to_string(run), resume + "approve" + asked,
                                  resume + "reject" + asked + " --reason 'why'"}));
    EXPECT_TRUE(the_run().attempt.has_value()) << "it goes on";
  }
  when(decision_of(second, Decision::approve));
  then_names({"StationApprovalGiven"});
  EXPECT_EQ(events.front().cause, second);
}

TEST_F(RequestTest, TheNextOneOfTheSameAttemptIsAnotherOne) {  // G10
  given_attempt();
  when(request());
  const Position first = the_run().asked_at;
  when(HeartbeatStation{run, "a", token, {}, "half"});
  EXPECT_EQ(the_run().asked_at, first);
  when(decision_of(first, Decision::approve));
  then_names({"StationApprovalGiven"});
  EXPECT_EQ(the_run().asked_at, 0U);
  when(decision_of(first, Decision::approve));
  then_rejected(ErrorCode::NOT_WAITING_FOR_APPROVAL);
  when(request("and now?"));
  then_names({"StationApprovalRequested"});
  when(decision_of(first, Decision::approve));
  then_rejected(ErrorCode::NOT_WAITING_FOR_APPROVAL);
  when(decision(Decision::approve));
  then_names({"StationApprovalGiven"});
}

// A result that is held raises no other question.
TEST_F(RequestTest, IsTheSameOneAfterItsAttempt) {  // G10
  given_attempt();
  when(request());
  const Position asked = the_run().asked_at;
  when_completed("a", token);
  then({result_held()});
  EXPECT_EQ(the_run().asked_at, asked);
  when(decision_of(asked, Decision::approve));
  then({approved("a")});
  EXPECT_EQ(events.front().cause, asked);
  EXPECT_EQ(the_run().asked_at, 0U);
}

TEST_F(RequestTest, IsTheCauseOfTheCancellationThatRejectsIt) {  // G10
  given_attempt(/*job=*/true);
  when(request());
  const Position asked = the_run().asked_at;
  when(decision_of(asked + 1, Decision::reject));
  then_rejected(ErrorCode::NOT_WAITING_FOR_APPROVAL);
  when(decision_of(asked, Decision::reject));
  then_names({"RunCancelRequested"});
  EXPECT_EQ(events.front().cause, asked);
}

}  // namespace
}  // namespace signalbox
