// What the commands of due deadlines say, what moves a deadline, and when others may ask for the
// end of a lease before its timer fires.
#include <gtest/gtest.h>

#include <optional>

#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

class DueCommandsTest : public ::testing::Test, protected RpcSite {
 protected:
  // Applies the commands that are due and returns the first of this type.
  template <class One>
  std::optional<One> apply_due() {
    std::optional<One> found;
    for (const Command& command : timers.take_due(engine.world(), clock.monotonic_ns())) {
      if (!found && std::holds_alternative<One>(command)) found = std::get<One>(command);
      take(command);
    }
    return found;
  }
  // Starts a run of this station alone.
  void start(const StationDefinition& station) {
    StartRun command;
    command.goal = "g";
    command.pipeline = PipelineDefinition{"p", {station}};
    command.run_id = run = ids.next_run_id(0);
    take(command);
  }
  // Starts a run that times out after five seconds, and returns the token of its attempt.
  Token claim_started(std::int64_t stall_after_ms = 0) {
    StationDefinition station;
    station.name = "work";
    station.timeout_ms = 5000;
    station.stall_after_ms = stall_after_ms;
    station.retry = {3, 100, {Strategy::original}};
    start(station);
    ClaimStation command;
    command.worker = "w";
    command.lease_ms = 60'000;
    take(command);
    return engine.world().position;
  }
  Token acquire(std::int64_t lease_ms) {
    AcquireLock command;
    command.key = "deploy";
    command.owner = "w";
    command.lease_ms = lease_ms;
    take(command);
    return engine.world().position;
  }
  Token begin_tick(std::int64_t lease_ms) {
    BeginTick command;
    command.loop = "nightly";
    command.lease_ms = lease_ms;
    take(command);
    return engine.world().position;
  }
  [[nodiscard]] StationStatus status() const {
    return engine.world().find_run(run)->station().status;
  }
  [[nodiscard]] std::optional<std::int64_t> elapsed_ms() const {
    return timers.elapsed_ms(*engine.world().find_run(run), clock.monotonic_ns());
  }
  [[nodiscard]] std::optional<TimeOutTick> expired_tick() const {
    return timers.expired_tick(engine.world(), "nightly", clock.monotonic_ns());
  }
  [[nodiscard]] std::optional<ExpireLock> expired_lock() const {
    return timers.expired_lock(engine.world(), "deploy", clock.monotonic_ns());
  }
  RunId run{};
};

TEST_F(DueCommandsTest, AnAttemptStallsAfterItsLatestProgress) {  // W5
  const Token token = claim_started(/*stall_after_ms=*/1000);
  clock.advance_ms(1500);
  EXPECT_FALSE(apply_due<StallStation>()) << "it never said how far it is";
  take(HeartbeatStation{run, "work", token, {}, "10 %"});
  clock.advance_ms(600);
  take(HeartbeatStation{run, "work", token, {}, "10 %"});
  clock.advance_ms(399);
  EXPECT_FALSE(apply_due<StallStation>());
  clock.advance_ms(4);
  const auto stall = apply_due<StallStation>();
  ASSERT_TRUE(stall);
  EXPECT_EQ(stall->stalled_ms, 1003);
  EXPECT_EQ(status(), StationStatus::waiting);
  clock.advance_ms(999);
  EXPECT_FALSE(apply_due<StallStation>());
  clock.advance_ms(1);
  const auto next = apply_due<StallStation>();
  ASSERT_TRUE(next);
  EXPECT_EQ(next->stalled_ms, 2000);
}

// The next station may have no such deadline.
TEST_F(DueCommandsTest, AStallIsOfItsOwnStation) {  // W5
  StationDefinition first;
  first.name = "work";
  first.timeout_ms = 60'000;
  first.stall_after_ms = 1000;
  StationDefinition second = first;
  second.name = "more";
  second.stall_after_ms = 0;
  StartRun start;
  start.goal = "g";
  start.pipeline = PipelineDefinition{"p", {first, second}};
  start.run_id = run = ids.next_run_id(0);
  take(start);
  ClaimStation claim;
  claim.worker = "w";
  claim.lease_ms = 60'000;
  take(claim);
  const Token token = engine.world().position;
  take(HeartbeatStation{run, "work", token, {}, "10 %"});
  CompleteStation complete;
  complete.run_id = run;
  complete.station = "work";
  complete.token = token;
  take(complete);
  take(claim);
  take(HeartbeatStation{run, "more", engine.world().position, {}, "20 %"});
  clock.advance_ms(5000);
  EXPECT_FALSE(apply_due<StallStation>());
  EXPECT_EQ(status(), StationStatus::running);
}

TEST_F(DueCommandsTest, TheTimeInWhichAPersonDecidesIsNoStall) {  // W5, G10
  const Token token = claim_started(/*stall_after_ms=*/1000);
  take(HeartbeatStation{run, "work", token, {}, "10 %"});
  take(RequestApproval{run, "work", token, "go on?"});
  clock.advance_ms(1500);
  apply_due<StallStation>();
  take(ResumeRun{run, {}, Decision::approve, {}});
  EXPECT_EQ(status(), StationStatus::running);
  clock.advance_ms(999);
  EXPECT_FALSE(apply_due<StallStation>());
  clock.advance_ms(1);
  EXPECT_TRUE(apply_due<StallStation>());
  EXPECT_EQ(status(), StationStatus::waiting);
}

TEST_F(DueCommandsTest, ATimeoutCountsFromTheLatestProgress) {  // W2, W3
  const Token token = claim_started();
  clock.advance_ms(4000);
  EXPECT_EQ(elapsed_ms(), 4000);
  take(HeartbeatStation{run, "work", token, {}, "10 %"});
  EXPECT_EQ(elapsed_ms(), 0);
  clock.advance_ms(4999);
  EXPECT_FALSE(apply_due<TimeOutStation>());
  clock.advance_ms(8);
  const auto timeout = apply_due<TimeOutStation>();
  ASSERT_TRUE(timeout);
  EXPECT_EQ(timeout->elapsed_ms, 5007);
  EXPECT_EQ(status(), StationStatus::waiting);
  EXPECT_EQ(elapsed_ms(), std::nullopt);
}

TEST_F(DueCommandsTest, AResumedRunHasItsWholeTimeAgain) {  // W2
  claim_started();
  take(PauseRun{run, {}});
  clock.advance_ms(5000);
  EXPECT_TRUE(apply_due<TimeOutStation>());
  EXPECT_EQ(status(), StationStatus::running) << "a paused run never times out";
  take(ResumeRun{run, {}, {}, {}});
  clock.advance_ms(4999);
  EXPECT_FALSE(apply_due<TimeOutStation>());
  clock.advance_ms(1);
  EXPECT_TRUE(apply_due<TimeOutStation>());
  EXPECT_EQ(status(), StationStatus::waiting);
}

// Its shim enforces the timeout.
TEST_F(DueCommandsTest, AJobOfTheServiceHasNoDeadline) {
  StationDefinition station;
  station.name = "job";
  station.executor = ExecutorKind::process;
  station.command = {"true"};
  start(station);
  take(DispatchStation{run, ids.next_span_id(), {}, {}});
  EXPECT_TRUE(engine.world().find_run(run)->attempt);
  EXPECT_EQ(timers.next_due_ns(), std::nullopt);
  EXPECT_EQ(elapsed_ms(), std::nullopt);
}

TEST_F(DueCommandsTest, ATickIsOverWithItsLease) {  // T4, W4
  begin_tick(1000);
  clock.advance_ms(999);
  EXPECT_FALSE(expired_tick());
  EXPECT_FALSE(apply_due<TimeOutTick>());
  clock.advance_ms(6);
  ASSERT_TRUE(expired_tick());
  EXPECT_EQ(expired_tick()->elapsed_ms, 1005);
  const auto timeout = apply_due<TimeOutTick>();
  ASSERT_TRUE(timeout);
  EXPECT_EQ(timeout->elapsed_ms, 1005);
  EXPECT_FALSE(expired_tick());
}

TEST_F(DueCommandsTest, ATickThatEndedHasNoDeadline) {
  const Token token = begin_tick(1000);
  take(EndTick{"nightly", token, TickOutcome::succeeded, {}});
  EXPECT_EQ(timers.next_due_ns(), std::nullopt);
  EXPECT_FALSE(expired_tick());
}

TEST_F(DueCommandsTest, ALockIsOverALeaseAfterItsLatestRenewal) {  // L3
  const Token token = acquire(50);
  clock.advance_ms(40);
  take(RefreshLock{"deploy", token, 100, {}});
  clock.advance_ms(99);
  EXPECT_FALSE(expired_lock());
  EXPECT_EQ(timers.lease_end_ns("deploy"), clock.monotonic_ns() + 1'000'000);
  clock.advance_ms(1);
  ASSERT_TRUE(expired_lock());
  EXPECT_EQ(expired_lock()->token, token);
  take(*expired_lock());
  EXPECT_FALSE(expired_lock());
  EXPECT_EQ(timers.lease_end_ns("deploy"), std::nullopt);
  EXPECT_EQ(timers.next_due_ns(), std::nullopt);
}

TEST_F(DueCommandsTest, AfterARestartLocksAndTicksHaveTheirFullLengthAgain) {
  acquire(50);
  begin_tick(60);
  clock.advance_ms(45);
  timers.arm_all(engine.world(), clock.wall_ns(), clock.monotonic_ns());
  clock.advance_ms(49);
  EXPECT_FALSE(expired_lock());
  clock.advance_ms(1);
  EXPECT_TRUE(expired_lock());
  clock.advance_ms(9);
  EXPECT_FALSE(expired_tick());
  clock.advance_ms(1);
  EXPECT_TRUE(expired_tick());
}

}  // namespace
}  // namespace signalbox
