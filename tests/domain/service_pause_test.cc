// While the service is paused no attempt, card's run or merge begins, and what is under way goes on
// to its end. O2.
#include "tests/domain/card_fixture.h"
#include "tests/domain/plan_fixture.h"

namespace signalbox {
namespace {

class ServicePauseTest : public GivenWhenThen {};

TEST_F(ServicePauseTest, StandsUntilSomebodyResumes) {  // O2
  actor = "uid:1000";
  when(PauseService{"an upgrade"});
  then({ServerEvent{ServicePaused{"an upgrade"}}});
  EXPECT_EQ(world.server.pause, (ServicePause{1, now.wall_ns, "uid:1000", "an upgrade"}));
  actor = "uid:2000";
  when(PauseService{"another reason"});
  then_nothing();
  EXPECT_EQ(world.server.pause->reason, "an upgrade") << "the first one stands";
  when(ResumeService{"it is done"});
  then({ServerEvent{ServiceResumed{"it is done"}}});
  EXPECT_EQ(events.front().cause, 1U);
  EXPECT_FALSE(world.server.pause);
  when(ResumeService{});
  then_nothing();
}

// Whoever resumes has seen one pause, and another one may have begun since, for another reason.
TEST_F(ServicePauseTest, IsntEndedByWhoSawAnEarlierOne) {  // O2
  when(PauseService{"an upgrade"});
  const Position first = world.server.pause->position;
  when(ResumeService{{}, first});
  when(PauseService{"the API is down"});
  const Position second = world.server.pause->position;
  when(ResumeService{"the upgrade is done", first});
  then_rejected(ErrorCode::OUTDATED);
  EXPECT_NE(rejection->message.find("the API is down"), std::string::npos) << rejection->message;
  when(ResumeService{{}, second});
  then({ServerEvent{ServiceResumed{}}});
  when(ResumeService{{}, first});
  then_nothing();
}

TEST_F(ServicePauseTest, OutlastsARestart) {  // O2
  given({ServerEvent{ServerStarted{1, "1", PreviousEnd::none}},
         ServerEvent{ServicePaused{"an upgrade"}}});
  when(StartServer{"2"});
  when(FinishRecovery{});
  when(StopServer{});
  when(StartServer{"2"});
  EXPECT_TRUE(world.server.pause);
}

TEST_F(ServicePauseTest, AReasonHasALimit) {  // O2
  const std::string long_text(limits::reason_bytes_max + 1, 'x');
  when(PauseService{long_text});
  then_rejected(ErrorCode::LIMIT_EXCEEDED);
  when(ResumeService{long_text});
  then_rejected(ErrorCode::LIMIT_EXCEEDED);
}

TEST_F(ServicePauseTest, NoAttemptIsClaimedAndOneUnderWayFinishes) {  // O2
  given({started({"two", {worker_station("a"), worker_station("b")}}), claimed("a"),
         ServerEvent{ServicePaused{""}}});
  when(HeartbeatStation{run, "a", 2, {}, {}});
  then_names({"StationHeartbeat"});
  when(end_of("a", 2));
  then_names({"StationSucceeded"});
  when(claim_by("ann"));
  then_nothing();
  ClaimStation of_run = claim_by("ann");
  of_run.run_id = run;
  when(of_run);
  then_nothing();
  EXPECT_NE(the_run().station().ready_at, 0U) << "it keeps its place in the queue";
  when(ResumeService{});
  when(claim_by("ann"));
  then_names({"StationClaimed"});
}

TEST_F(ServicePauseTest, NoJobIsDispatched) {  // O2
  given({started({"p", {process_station("p")}}), ServerEvent{ServicePaused{""}}});
  when(DispatchStation{run, uuid_of(0x50)});
  then_nothing();
  when(ResumeService{});
  when(DispatchStation{run, uuid_of(0x50)});
  then_names({"StationClaimed", "StationSubmitIntended"});
}

TEST_F(ServicePauseTest, ARunIsAcceptedPausedAndCanceledMeanwhile) {  // O2
  given({ServerEvent{ServicePaused{""}}});
  StartRun start;
  start.goal = "goal";
  start.run_id = run;
  start.pipeline = PipelineDefinition{"p", {worker_station("a")}, {}};
  when(start);
  then_names({"RunStarted"});
  when(PauseRun{run, {}});
  then_names({"RunPaused"});
  when(ResumeRun{run, {}, {}, {}});
  then_names({"RunResumed"});
  when(CancelRun{run, {}});
  then_names({"StationCanceled", "RunCanceled"});
}

TEST_F(ServicePauseTest, ATimerEndsAnAttemptAndTheNextOneWaits) {  // O2
  given({started({"one", {worker_station("a", {3, 0, {Strategy::original}})}}), claimed("a"),
         ServerEvent{ServicePaused{""}}});
  when(TimeOutStation{run, 2, the_run().attempt->timer_origin(), 10'000});
  ASSERT_FALSE(events.empty());
  EXPECT_FALSE(the_run().attempt);
  when(WakeStation{run});
  when(claim_by("ann"));
  then_nothing();
}

TEST_F(ServicePauseTest, LocksAndTicksGoOn) {  // O2
  given({ServerEvent{ServicePaused{""}}});
  AcquireLock acquire;
  acquire.key = "deploy";
  acquire.owner = "ann";
  when(acquire);
  then_names({"LockAcquired"});
  BeginTick tick;
  tick.loop = "orchestrator";
  when(tick);
  then_names({"TickStarted"});
}

using ServicePauseStepTest = PlanTest;

// The steps belong to the attempt under way: without them its job could never end.
TEST_F(ServicePauseStepTest, TheStepsOfAnAttemptUnderWayGoOn) {  // O2
  begun_with({}, {step("a")});
  given({ServerEvent{ServicePaused{""}}});
  when(outside());
  then_names({"StepAttemptStarted"});
  when(CompleteStep{run, "a", token_of("a"), {}});
  then_names({"StepCompleted"});
}

using ServicePauseCardTest = CardTest;

TEST_F(ServicePauseCardTest, NoCardIsStarted) {  // O2
  const StartCard start = start_of(card, run);
  given({ServerEvent{ServicePaused{"an upgrade"}}});
  EXPECT_EQ(next_to_start(world), nullptr);
  EXPECT_EQ(why_waiting(world, the_card()).reason, CardWaitReason::service_paused);
  when(start);
  then_rejected(ErrorCode::CARD_BUSY);
  when(ResumeService{});
  EXPECT_EQ(why_waiting(world, the_card()).reason, CardWaitReason::none);
  when(start);
  then_names({"CardStarted", "RunStarted"});
}

using ServicePauseMergeTest = VerifiedCardTest;

TEST_F(ServicePauseMergeTest, NoMergeBegins) {  // O2
  const MergeCard merge = merge_of(card, run);
  ASSERT_EQ(next_to_merge(world, project, now.wall_ns), &the_card());
  given({ServerEvent{ServicePaused{""}}});
  EXPECT_EQ(next_to_merge(world, project, now.wall_ns), nullptr);
  when(merge);
  then_rejected(ErrorCode::CARD_BUSY);
  when(ResumeService{});
  when(merge);
  then_names({"CardMergeStarted", "RunStarted"});
}

TEST_F(ServicePauseMergeTest, AMergeThatIsAcceptedWaitsBetweenItsStations) {  // O2
  when(merge_of(card, run));
  when(PauseService{});
  when(DispatchStation{run, uuid_of(0x60), {}});
  then_nothing();
  when(ResumeService{});
  finish_merge(Outcome::succeeded);
  EXPECT_EQ(world.board.find(card), nullptr) << "it is merged";
}

}  // namespace
}  // namespace signalbox
