// What every event says beside itself: its stream, and the position of the record that led to it.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "domain/admission.h"
#include "tests/domain/plan_fixture.h"

namespace signalbox {
namespace {

class CauseTest : public PlanTest {
 protected:
  // Expects that the events of the latest when() name these positions; 0: nothing led to it.
  void then_causes(const std::vector<Position>& expected) {
    ASSERT_FALSE(rejection.has_value()) << rejection->message;
    std::vector<Position> causes;
    for (const NewEvent& each : events) causes.push_back(each.cause);
    EXPECT_EQ(causes, expected);
  }
  void then_streams(const std::vector<Stream>& expected) {
    std::vector<Stream> streams;
    for (const NewEvent& each : events) streams.push_back(each.stream);
    EXPECT_TRUE(streams == expected);
  }

  static AcquireLock acquire_deploy(std::string owner) {
    AcquireLock command;
    command.key = "deploy";
    command.owner = std::move(owner);
    return command;
  }
  static BeginTick begin_hourly() {
    BeginTick command;
    command.loop = "hourly";
    return command;
  }
  static PipelineDefinition two_stations(const RetryPolicy& retry = {}) {
    return {"two", {worker_station("a", retry), worker_station("b")}, {}};
  }
};

TEST_F(CauseTest, OfALocksEventsItIsTheGrant) {
  when(acquire_deploy("ann"));
  then_causes({0});
  then_streams({Stream::lock("deploy")});
  when(acquire_deploy("ann"));
  then_causes({1});
  when(RefreshLock{"deploy", 1, {}, {}});
  then_causes({1});
  when(ReleaseLock{"deploy", 1, {}});
  then_causes({1});
  when(acquire_deploy("bob"));
  then_causes({0});
  const Token token = world.position;
  when(ExpireLock{"deploy", token, token});
  then_causes({token});
}

TEST_F(CauseTest, OfAFailedRefreshItIsTheHoldersGrantOrTheEndOfTheLock) {  // L5
  when(acquire_deploy("ann"));
  when(ReleaseLock{"deploy", 1, {}});
  when(NoteRefreshFailure{"deploy", 1, {}});
  then_causes({2});
  when(acquire_deploy("bob"));
  const Token token = world.position;
  when(NoteRefreshFailure{"deploy", 2, "eve"});
  then_causes({token});
}

TEST_F(CauseTest, OfWhatGoesWithALockItIsTheAttemptAndTheTick) {  // L8
  given({started(two_stations())});
  when(acquire_deploy("ann"));
  const Token lock = world.position;
  ClaimStation claim = claim_by("ann");
  claim.lock_token = lock;
  claim.span_id = uuid_of(0x77);
  when(claim);
  then_causes({0});
  const Token attempt = world.position;
  BeginTick begin = begin_hourly();
  begin.lock_token = lock;
  when(begin);
  const Token tick = world.position;
  when(ReleaseLock{"deploy", lock, {}});
  then_names({"LockReleased", "StationAttemptFailed", "TickFailed"});
  then_causes({lock, attempt, tick});
  then_streams({Stream::lock("deploy"), Stream::run(run), Stream::tick("hourly")});
  EXPECT_EQ(events[1].span_id, uuid_of(0x77));
}

TEST_F(CauseTest, OfATicksEventsItIsItsBegin) {
  when(begin_hourly());
  then_causes({0});
  then_streams({Stream::tick("hourly")});
  when(NoteTickSkipped{begin_hourly()});
  then_causes({1});
  when(EndTick{"hourly", 1, TickOutcome::succeeded, {}});
  then_causes({1});
  when(begin_hourly());
  const Token token = world.position;
  when(EndTick{"hourly", token, TickOutcome::failed, "no disk"});
  then_causes({token});
}

TEST_F(CauseTest, OfARecoveryItIsTheHaltOrTheTick) {  // T5
  when(begin_hourly());
  when(TimeOutTick{"hourly", 1, 1});
  then_causes({1});
  when(RecoverTick{"hourly", "checked", {}});
  then_causes({1});
  when(begin_hourly());
  const Token token = world.position;
  when(TimeOutTick{"hourly", token, 1});
  when(NoteTickIncomplete{begin_hourly()});
  then_causes({token});
  const Position halt = world.position;
  when(RecoverTick{"hourly", "checked", {}});
  then_causes({halt});
}

TEST_F(CauseTest, OfAnAttemptsEventsItIsItsClaim) {
  given({started(two_stations({1, 0, {Strategy::original}}))});
  when(claim_by("ann"));
  when(HeartbeatStation{run, "a", 2, {}, {}});
  then_causes({2});
  when(SetExternalRef{run, "a", 2, "ref"});
  then_causes({2});
  when(ExpireLease{run, 2, 3});
  then_causes({2});
  when(WakeStation{run});
  then_causes({0});
  when(claim_by("ann"));
  const Token second = world.position;
  when(end_of("a", second));
  then_causes({second});
  when(claim_by("ann"));
  const Token third = world.position;
  when(end_of("b", third));
  then_names({"StationSucceeded", "RunSucceeded"});
  then_causes({third, third});
}

TEST_F(CauseTest, OfACancellationItIsTheAttemptThatEnds) {  // S11
  given({started({"p", {process_station("p")}, {}}), dispatched("p"), intended("p")});
  when(CancelRun{run, "enough"});
  then_causes({0});
  when(ConfirmCancel{run, 2, {}});
  then_names({"CancelConfirmed", "StationCanceled", "RunCanceled"});
  then_causes({2, 2, 2});
  EXPECT_EQ(events[0].span_id, uuid_of(0x50)) << "that of the attempt";
  EXPECT_EQ(events[1].span_id, uuid_of(0x50));
  EXPECT_EQ(events[2].span_id, run) << "that of the run";
}

TEST_F(CauseTest, OfAStepItIsTheStationsAttemptAndThenTheStepsOwn) {  // D1
  begun_with(by_command(), {step("a"), step("b", {"a"})});
  when(own());
  then_causes({2});
  const Token token = token_of("a");
  when(HeartbeatStep{run, "a", token, {}});
  then_causes({token});
  when(CompleteStep{run, "a", token, "done"});
  then_causes({token});
}

TEST_F(CauseTest, OfACardItIsItsLatestChangeOrWhatLedItsRunThere) {  // H1
  given({ProjectEvent{ProjectPut{"/repositories/site", "main", "", two_stations()}},
         CardEvent{CardSubmitted{"site", "Fix it", "", "", 0}}});
  when(BlockCard{card, "wait"});
  then_causes({2});
  then_streams({Stream::card(card)});
  when(UnblockCard{card, {}});
  then_causes({3});
  StartCard start{card, run_of_card(*world.find_project(project), *world.board.find(card))};
  start.run.run_id = run;
  start.run.pipeline_digest = digest_of(7);
  when(start);
  then_names({"CardStarted", "RunStarted"});
  then_causes({4, 0});
  then_streams({Stream::card(card), Stream::run(run)});
  when(claim_by("ann"));
  const Token token = world.position;
  CompleteStation failed = end_of("a", token, Outcome::failed);
  failed.error_class = ErrorClass::config;
  when(failed);
  then_names({"StationFailed", "RunFailed", "CardBlocked"});
  then_causes({token, token, token});
  then_streams({Stream::run(run), Stream::run(run), Stream::card(card)});
}

TEST_F(CauseTest, OfARevocationItIsTheIssueAndOfAnAuditKeyTheOneBefore) {
  when(IssueAccessToken{"ci", Role::worker, {}, uuid_of(1), digest_of(1)});
  then_causes({0});
  then_streams({Stream::access()});
  when(AdoptAuditKey{"box+1", "box"});
  then_causes({0});
  when(AdoptAuditKey{"box+2", "box"});
  then_causes({2});
  when(RevokeAccessToken{uuid_of(1), "lost"});
  then_causes({1});
}

}  // namespace
}  // namespace signalbox
