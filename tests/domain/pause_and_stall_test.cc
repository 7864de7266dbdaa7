// A paused run starts nothing and never times out; the stall actions are taken in order on an
// attempt without progress.
#include <gtest/gtest.h>

#include "tests/domain/given_when_then.h"

namespace signalbox {
namespace {

const Uuid span = uuid_of(0x50);

StationDefinition watched(std::string name) {
  StationDefinition station =
      worker_station(std::move(name), {5, 0, {Strategy::original, Strategy::simplified}});
  station.stall_after_ms = 1000;
  return station;
}

class PauseTest : public GivenWhenThen {};

TEST_F(PauseTest, StartsNoAttemptUntilItIsResumed) {  // S11
  given({started({"two", {worker_station("a"), worker_station("b")}})});
  when(PauseRun{run, "lunch"});
  then({RunEvent{RunPaused{"lunch"}}});
  when(claim_by("ann"));
  then_nothing();
  when(PauseRun{run, {}});
  then_nothing();
  when(ResumeRun{run, {}, {}, {}});
  then({RunEvent{RunResumed{""}}});
  when(claim_by("ann"));
  then_names({"StationClaimed"});
  when(ResumeRun{run, {}, {}, {}});
  then_nothing();
}

TEST_F(PauseTest, AnAttemptUnderWayFinishesAndTheNextStationWaits) {  // S11
  given({started({"two", {worker_station("a"), worker_station("b")}}), claimed("a")});
  when(PauseRun{run, {}});
  when(end_of("a", 2));
  then_names({"StationSucceeded"});
  when(claim_by("ann"));
  then_nothing();
  when(ResumeRun{run, {}, {}, {}});
  when(claim_by("ann"));
  then_names({"StationClaimed"});
}

TEST_F(PauseTest, NeverTimesOut) {  // W2
  given({started({"one", {worker_station("a")}}), claimed("a")});
  when(PauseRun{run, {}});
  when(TimeOutStation{run, 2, 2, 10'000});
  then_nothing();
}

TEST_F(PauseTest, NeverStalls) {  // W2, W5
  given({started({"one", {watched("a")}}), claimed("a")});
  when(HeartbeatStation{run, "a", 2, {}, "same"});
  when(PauseRun{run, {}});
  when(StallStation{run, 2, 3, 0, 1000});
  then_nothing();
  when(ResumeRun{run, {}, {}, {}});
  when(StallStation{run, 2, 3, 0, 1000});
  then_names({"StationStalled"});
}

TEST_F(PauseTest, ARetryThatIsDueWaitsToo) {
  given({started({"one", {watched("a")}}), claimed("a"),
         StationEvent{StationDeferred{"a", 1, WaitReason::deferred, 5, ""}}});
  when(PauseRun{run, {}});
  when(WakeStation{run});
  then_names({"StationReady"});
  when(claim_by("ann"));
  then_nothing();
  when(ResumeRun{run, {}, {}, {}});
  when(claim_by("ann"));
  then_names({"StationClaimed"});
}

// Whoever has mended what it failed for needn't wait for an hour.
TEST_F(PauseTest, AWaitForATimeEndsWhenTheRunIsResumed) {  // A9
  given({started({"one", {worker_station("a")}}), claimed("a"),
         StationEvent{StationDeferred{"a", 1, WaitReason::quota, 3'600'000'000'000, ""}}});
  when(ResumeRun{run, {}, {}, {}});
  then_names({"StationReady"});
  when(ResumeRun{run, {}, {}, {}});
  then_nothing();
  when(claim_by("ann"));
  then_names({"StationClaimed"});
  when(ResumeRun{run, {}, {}, {}});
  then_nothing();
}

// A request whose answer was lost is made again under another id: it changes nothing then.
TEST_F(PauseTest, AWaitForATimeEndsAlsoWhenAPausedRunIsResumed) {  // A9
  given({started({"one", {worker_station("a")}}), claimed("a"),
         StationEvent{StationDeferred{"a", 1, WaitReason::quota, 3'600'000'000'000, ""}}});
  when(PauseRun{run, {}});
  when(ResumeRun{run, {}, {}, {}});
  then({RunEvent{RunResumed{""}}, StationEvent{StationReady{"a"}}});
  when(ResumeRun{run, {}, {}, {}});
  then_nothing();
}

TEST_F(PauseTest, AWaitForATimeEndsAlsoWhenTheBudgetIsRaised) {  // A9
  given({started({"one", {worker_station("a")}}), claimed("a"),
         StationEvent{StationDeferred{"a", 1, WaitReason::quota, 3'600'000'000'000, ""}}});
  when(ResumeRun{run, "", {}, Budget{0, 0, 20}});
  then({RunEvent{RunBudgetRaised{Budget{0, 0, 20}, ""}}, StationEvent{StationReady{"a"}}});
  when(ResumeRun{run, "", {}, Budget{0, 0, 20}});
  then_nothing();
}

class WatchdogTest : public GivenWhenThen {};

TEST_F(WatchdogTest, CountsFromTheLaterOfStartAndProgress) {  // W2
  given({started({"one", {worker_station("a")}}), claimed("a")});
  now.wall_ns += 7'000'000;
  when(HeartbeatStation{run, "a", 2, {}, "10 %"});
  when(TimeOutStation{run, 2, 2, 10'000});
  then_nothing();                                   // the timer was set before the progress
  when(HeartbeatStation{run, "a", 2, {}, "10 %"});  // unchanged digest: no progress
  when(TimeOutStation{run, 2, 3, 10'000});
  ASSERT_FALSE(events.empty());
  const auto* timed_out = event_as<WatchdogTimedOut>(events[0].event);
  ASSERT_NE(timed_out, nullptr);
  EXPECT_EQ(timed_out->timer_origin_field, TimerOrigin::last_progress_at);
  EXPECT_EQ(timed_out->timer_origin_ns, now.wall_ns);
  EXPECT_EQ(timed_out->elapsed_ms, 10'000);
}

TEST_F(WatchdogTest, AHeartbeatWithoutADigestIsNoProgress) {  // W2
  given({started({"one", {worker_station("a")}}), claimed("a")});
  when(HeartbeatStation{run, "a", 2, {}, {}});
  when(TimeOutStation{run, 2, 2, 10'000});
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(event_as<WatchdogTimedOut>(events[0].event)->timer_origin_field,
            TimerOrigin::started_at);
}

TEST_F(WatchdogTest, WhatTheShimTimedOutHasItsCheckpointToo) {  // W3
  given({started({"one", {process_station("a")}}), dispatched("a"), intended("a")});
  now.wall_ns += 3'000'000'000;
  CompleteStation complete = end_of("a", 2, Outcome::timeout);
  complete.from_executor = true;
  when(complete);
  then_names({"WatchdogTimedOut", "StationAttemptFailed"});
  EXPECT_EQ(event_as<WatchdogTimedOut>(events[0].event)->elapsed_ms, 3000);
}

class StallTest : public GivenWhenThen {
 protected:
  void given_a_beat(StationDefinition station) {
    given({started({"one", {std::move(station)}}), claimed("a")});
    when(HeartbeatStation{run, "a", 2, {}, "same"});
  }
  void when_it_stalls() {
    const Attempt& attempt = *the_run().attempt;
    when(StallStation{run, attempt.token, attempt.last_progress_at, attempt.stalls, 1000});
  }
};

TEST_F(StallTest, IsNudgedFirstAndGoesOnWhenItProgresses) {  // W5
  given_a_beat(watched("a"));
  when_it_stalls();
  then({StationEvent{StationStalled{"a", 1, "same", 1000, StallAction::nudge}}});
  EXPECT_EQ(the_run().station().status, StationStatus::waiting);
  EXPECT_EQ(the_run().station().waiting, WaitReason::stalled);
  when(HeartbeatStation{run, "a", 2, {}, "same"});
  then_names({"StationHeartbeat"});
  EXPECT_FALSE(is_mere_renewal(world, HeartbeatStation{run, "a", 2, {}, "same"})) << "it stalls";
  when(HeartbeatStation{run, "a", 2, {}, "further"});
  then_names({"StationHeartbeat", "StationProgressed"});
  EXPECT_EQ(the_run().station().status, StationStatus::running);
  EXPECT_EQ(the_run().attempt->stalls, 0U);
}

TEST_F(StallTest, GoesDownTheLadder) {  // W5
  given_a_beat(watched("a"));
  when_it_stalls();
  when_it_stalls();
  then_names({"StationStalled", "StationAttemptFailed"});
  const auto* failed = event_as<StationAttemptFailed>(events[1].event);
  EXPECT_EQ(failed->failure.code, "STALLED");
  EXPECT_EQ(failed->next_strategy, Strategy::simplified);
}

TEST_F(StallTest, FailMeansTheEnd) {  // W5
  StationDefinition station = watched("a");
  station.stall_actions = {StallAction::fail};
  given_a_beat(station);
  when_it_stalls();
  then_names({"StationStalled", "StationFailed", "RunFailed"});
}

TEST_F(StallTest, AJobIsEndedBeforeItsAttempt) {  // W5
  StationDefinition station = process_station("a");
  station.stall_after_ms = 1000;
  station.stall_actions = {StallAction::next_strategy};
  station.retry = {3, 0, {Strategy::original, Strategy::simplified}};
  given({started({"one", {station}}), dispatched("a"), intended("a")});
  when(HeartbeatStation{run, "a", 2, {}, "same"});
  when_it_stalls();
  then_names({"StationStalled"});
  EXPECT_TRUE(the_run().attempt->ending);
  when_it_stalls();
  then_nothing();
  CompleteStation complete = end_of("a", 2, Outcome::canceled);
  complete.from_executor = true;
  when(complete);
  then_names({"StationAttemptFailed"});
  EXPECT_EQ(event_as<StationAttemptFailed>(events[0].event)->failure.code, "STALLED");
}

TEST_F(StallTest, ProgressThatComesTooLateDoesntSaveAJobThatIsBeingEnded) {
  StationDefinition station = process_station("a");
  station.stall_after_ms = 1000;
  station.stall_actions = {StallAction::fail};
  given({started({"one", {station}}), dispatched("a"), intended("a")});
  when(HeartbeatStation{run, "a", 2, {}, "same"});
  when_it_stalls();
  when(HeartbeatStation{run, "a", 2, {}, "further"});
  then_names({"StationHeartbeat"});
  CompleteStation complete = end_of("a", 2, Outcome::canceled);
  complete.from_executor = true;
  when(complete);
  then_names({"StationFailed", "RunFailed"});
}

TEST_F(StallTest, AJobThatIsBeingCanceledDoesntStall) {  // S11, W5
  StationDefinition station = process_station("a");
  station.stall_after_ms = 1000;
  given({started({"one", {station}}), dispatched("a"), intended("a")});
  when(HeartbeatStation{run, "a", 2, {}, "same"});
  when(CancelRun{run, "enough"});
  when_it_stalls();
  then_nothing();
}

// Of two timers of one stall the second must not count as the next stall.
TEST_F(StallTest, AStallIsCountedOnce) {  // W5
  given_a_beat(watched("a"));
  const Position progress = the_run().attempt->last_progress_at;
  when(StallStation{run, 2, progress, 0, 1000});
  then_names({"StationStalled"});
  when(StallStation{run, 2, progress, 0, 1000});
  then_nothing();
}

TEST_F(StallTest, ATimerThatComesAfterProgressIsTooLate) {
  given_a_beat(watched("a"));
  const Position before = the_run().attempt->last_progress_at;
  when(HeartbeatStation{run, "a", 2, {}, "further"});
  when(StallStation{run, 2, before, 0, 1000});
  then_nothing();
}

}  // namespace
}  // namespace signalbox
