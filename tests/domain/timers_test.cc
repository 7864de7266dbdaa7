// The timers of a station; and timers that fire after the state has changed, which lead to no
// events.
#include <gtest/gtest.h>

#include "tests/domain/given_when_then.h"

namespace signalbox {
namespace {

class TimersTest : public GivenWhenThen {
 protected:
  PipelineDefinition worker{"one", {worker_station("a", {1, 0, {Strategy::original}})}};
};

TEST_F(TimersTest, ALeaseThatRanOutLosesTheAttempt) {
  given({started(worker), claimed("a")});
  when(ExpireLease{run, 2, 2});
  then_names({"StationAttemptFailed"});
  const auto* failed = event_as<StationAttemptFailed>(events[0].event);
  EXPECT_EQ(failed->failure.error_class, ErrorClass::lost);
  EXPECT_EQ(failed->failure.code, "LEASE_EXPIRED");
  when(HeartbeatStation{run, "a", 2, {}, {}});
  then_rejected(ErrorCode::STALE_TOKEN);
}

TEST_F(TimersTest, ALeaseThatWasRenewedIsNotExpiredByTheOlderTimer) {
  given({started(worker), claimed("a"), StationEvent{StationHeartbeat{"a", 1000, ""}}});
  when(ExpireLease{run, 2, 2});
  then_nothing();
  when(ExpireLease{run, 2, 3});
  then_names({"StationAttemptFailed"});
}

TEST_F(TimersTest, TimersOfAnEndedAttemptAreTooLate) {
  given({started(worker), claimed("a"),
         StationEvent{StationDeferred{"a", 1, WaitReason::deferred, 5, ""}},
         StationEvent{StationReady{"a"}}, claimed("a", 2)});
  when(ExpireLease{run, 2, 2});
  then_nothing();
  when(TimeOutStation{run, 2, 2, 5000});
  then_nothing();
  when(WakeStation{run});
  then_nothing();
  EXPECT_EQ(the_run().attempt->token, 5u);
}

TEST_F(TimersTest, TimersOfAnEndedRunAreTooLate) {
  given({started(worker), claimed("a"), succeeded("a"), run_succeeded()});
  when(ExpireLease{run, 2, 2});
  then_nothing();
  when(TimeOutStation{run, 2, 2, 5000});
  then_nothing();
  when(WakeStation{run});
  then_nothing();
  when(ConfirmCancel{run, 2, {}});
  then_nothing();
}

TEST_F(TimersTest, AnAttemptThatTakesTooLongTimesOut) {
  given({started(worker), claimed("a")});
  when(TimeOutStation{run, 2, 2, 5000});
  then_names({"WatchdogTimedOut", "StationAttemptFailed"});  // W3
  EXPECT_EQ(event_as<WatchdogTimedOut>(events[0].event)->elapsed_ms, 5000);
  EXPECT_EQ(event_as<StationAttemptFailed>(events[1].event)->failure.outcome, Outcome::timeout);
  when(WakeStation{run});
  when(claim_by("ann"));
  when(TimeOutStation{run, world.position, world.position, 5000});
  then_names({"WatchdogTimedOut", "StationTimedOut", "RunFailed"});  // S4
}

TEST_F(TimersTest, WhatTheServiceWatchesItselfHasNoLease) {
  given({started({"p", {process_station("p")}}), dispatched("p"), intended("p")});
  when(ExpireLease{run, 2, 2});
  then_nothing();
  when(TimeOutStation{run, 2, 2, 5000});
  then_nothing();
}

}  // namespace
}  // namespace signalbox
