// Tests deadlines: which event sets them, when they are due, and what commands follow.
#include "server/engine/timers.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

class TimersTest : public ::testing::Test, protected RpcSite {
 protected:
  TimersTest() {
    StationDefinition station;
    station.name = "work";
    station.timeout_ms = 5000;
    station.retry = {3, 100, {Strategy::original}};
    StartRun command;
    command.goal = "g";
    command.pipeline = PipelineDefinition{"p", {station}};
    command.run_id = run = ids.next_run_id(0);
    take(command);
  }
  std::size_t take(const Command& command) {
    auto transaction = engine.begin({"uid:1", {}, {}});
    const auto applied = transaction.apply(command);
    EXPECT_TRUE(applied) << (applied ? "" : applied.error().message);
    return applied.value_or(0);
  }
  Token claim(std::int64_t lease_ms) {
    ClaimStation command;
    command.worker = "w";
    command.lease_ms = lease_ms;
    take(command);
    return engine.world().position;
  }
  // Acquires the lock "deploy" and returns its token.
  Token acquire(std::int64_t lease_ms) {
    AcquireLock command;
    command.key = "deploy";
    command.owner = "w";
    command.lease_ms = lease_ms;
    take(command);
    return engine.world().position;
  }
  // Returns whether the lock "deploy" is due to expire, and expires it then.
  bool expire_lock() {
    bool due = false;
    for (const Command& command : timers.take_due(engine.world(), clock.monotonic_ns())) {
      due = due || std::holds_alternative<ExpireLock>(command);
      take(command);
    }
    return due;
  }
  // Takes the commands that are due and returns their names.
  std::vector<std::string> due() {
    std::vector<std::string> names;
    for (const Command& command : timers.take_due(engine.world(), clock.monotonic_ns())) {
      const std::size_t events = take(command);
      const char* name = std::holds_alternative<ExpireLease>(command)      ? "lease"
                         : std::holds_alternative<TimeOutStation>(command) ? "timeout"
                         : std::holds_alternative<WakeStation>(command)    ? "wait"
                                                                           : "?";
      names.push_back(name + std::string(events == 0 ? " (too late)" : ""));
    }
    return names;
  }
  [[nodiscard]] std::int64_t next_ms() const {
    const auto next = timers.next_due_ns();
    return next ? (*next - clock.monotonic_ns()) / 1'000'000 : -1;
  }
  [[nodiscard]] StationStatus status() const {
    return engine.world().find_run(run)->station().status;
  }

  using Names = std::vector<std::string>;
  RunId run{};
};

TEST_F(TimersTest, NothingIsSetForWhatWaitsForAWorker) {
  EXPECT_EQ(timers.next_due_ns(), std::nullopt);
  EXPECT_EQ(due(), Names{});
}

TEST_F(TimersTest, ALeaseRunsOutAndTheRetryComes) {
  claim(50);
  EXPECT_EQ(next_ms(), 50);
  clock.advance_ms(49);
  EXPECT_EQ(due(), Names{});
  clock.advance_ms(1);
  EXPECT_EQ(due(), Names{"lease"});
  EXPECT_EQ(status(), StationStatus::waiting);
  EXPECT_EQ(next_ms(), 100);  // the backoff
  clock.advance_ms(100);
  EXPECT_EQ(due(), Names{"wait"});
  EXPECT_EQ(status(), StationStatus::pending);
}

TEST_F(TimersTest, AHeartbeatMovesTheLease) {
  const Token token = claim(50);
  for (int beat = 0; beat < 5; ++beat) {
    clock.advance_ms(40);
    EXPECT_EQ(due(), Names{}) << beat;
    take(HeartbeatStation{run, "work", token, {}, {}});
  }
  // It may also become shorter.
  take(HeartbeatStation{run, "work", token, 10, {}});
  clock.advance_ms(10);
  EXPECT_EQ(due(), Names{"lease"});
}

TEST_F(TimersTest, ALeaseIsRenewedInMemoryWhileAHeartbeatIsOnRecord) {  // N6
  const Token token = claim(50);
  const auto renew = [this] {
    return timers.renew(*engine.world().find_run(run), clock.monotonic_ns());
  };
  EXPECT_FALSE(renew()) << "the log has to say that it sends heartbeats";
  take(HeartbeatStation{run, "work", token, {}, {}});
  for (int beat = 0; beat < 5; ++beat) {
    clock.advance_ms(40);
    EXPECT_EQ(due(), Names{}) << beat;
    EXPECT_TRUE(renew());
  }
  timers.arm_all(engine.world(), clock.wall_ns(), clock.monotonic_ns());
  EXPECT_FALSE(renew()) << "the log has to say that it outlived the restart";
  take(HeartbeatStation{run, "work", token, 3'600'000, "10 %"});
  clock.advance_ms(4000);
  EXPECT_TRUE(renew());
  take(HeartbeatStation{run, "work", token, 50, "20 %"});
  clock.advance_ms(50);
  EXPECT_EQ(due(), Names{"lease"});
  clock.advance_ms(100);
  EXPECT_EQ(due(), Names{"wait"});
  claim(50);
  EXPECT_FALSE(renew()) << "what is on record is another attempt's";
}

TEST_F(TimersTest, AHeartbeatIsRecordedAtLeastEveryTenMinutes) {  // N6
  const Token token = claim(1'800'000);
  const auto renew = [this] {
    return timers.renew(*engine.world().find_run(run), clock.monotonic_ns());
  };
  take(HeartbeatStation{run, "work", token, {}, {}});
  clock.advance_ms(limits::unrecorded_renewal_ms_max - 1);
  EXPECT_TRUE(renew());
  clock.advance_ms(1);
  EXPECT_FALSE(renew());
  take(HeartbeatStation{run, "work", token, {}, {}});
  EXPECT_TRUE(renew());
}

TEST_F(TimersTest, HeartbeatsDontPutOffTheTimeout) {
  const Token token = claim(1000);
  for (int beat = 0; beat < 9; ++beat) {
    clock.advance_ms(500);
    EXPECT_EQ(due(), Names{});
    take(HeartbeatStation{run, "work", token, {}, {}});
  }
  clock.advance_ms(500);
  EXPECT_EQ(due(), Names{"timeout"});
  EXPECT_EQ(status(), StationStatus::waiting);
}

TEST_F(TimersTest, AnAttemptThatEndedLeavesNothingDueToTheNext) {
  const Token token = claim(50);
  CompleteStation failed;
  failed.run_id = run;
  failed.station = "work";
  failed.token = token;
  failed.outcome = Outcome::failed;
  failed.error_class = ErrorClass::transient;
  take(failed);
  clock.advance_ms(60);
  EXPECT_EQ(due(), Names{});  // the old lease would have ended by now
  clock.advance_ms(40);
  EXPECT_EQ(due(), Names{"wait"});
  claim(1000);
  clock.advance_ms(999);
  EXPECT_EQ(due(), Names{});
  clock.advance_ms(1);
  EXPECT_EQ(due(), Names{"lease"});
}

TEST_F(TimersTest, ARunThatEndedIsForgotten) {
  claim(50);
  take(CancelRun{run, {}});
  EXPECT_EQ(timers.next_due_ns(), std::nullopt);
}

TEST_F(TimersTest, ADeferredStationComesBackInTime) {
  const Token token = claim(50);
  take(DeferStation{run, "work", token, 300, {}});
  clock.advance_ms(299);
  EXPECT_EQ(due(), Names{});
  clock.advance_ms(1);
  EXPECT_EQ(due(), Names{"wait"});
  EXPECT_EQ(status(), StationStatus::pending);
}

TEST_F(TimersTest, ALockThatATickNeedsExpiresWithItsLease) {  // L8
  BeginTick tick;
  tick.loop = "nightly";
  tick.lock_token = acquire(50);
  take(tick);
  clock.advance_ms(49);
  EXPECT_FALSE(expire_lock());
  clock.advance_ms(1);
  EXPECT_TRUE(expire_lock());
  EXPECT_EQ(engine.world().find_tick("nightly"), nullptr) << "it has failed with its lock";
}

TEST_F(TimersTest, ALockThatAnAttemptNeedsExpiresWithItsLease) {  // L8
  ClaimStation claim_with_lock;
  claim_with_lock.worker = "w";
  claim_with_lock.lease_ms = 1000;
  claim_with_lock.lock_token = acquire(50);
  take(claim_with_lock);
  clock.advance_ms(49);
  EXPECT_FALSE(expire_lock());
  clock.advance_ms(1);
  EXPECT_TRUE(expire_lock());
  EXPECT_EQ(status(), StationStatus::waiting);
}

TEST_F(TimersTest, ALockThatNothingNeedsLingersForTheNextAcquire) {
  acquire(50);
  clock.advance_ms(50 + limits::lock_linger_ms_max - 1);
  EXPECT_FALSE(expire_lock());
  EXPECT_EQ(next_ms(), 1);
  clock.advance_ms(1);
  EXPECT_TRUE(expire_lock());
}

TEST_F(TimersTest, AfterARestartLeasesHaveTheirFullLengthAgain) {
  claim(50);
  clock.advance_ms(45);
  timers.arm_all(engine.world(), clock.wall_ns(), clock.monotonic_ns());
  EXPECT_EQ(next_ms(), 50);
  clock.advance_ms(50);
  EXPECT_EQ(due(), Names{"lease"});
}

TEST_F(TimersTest, AfterARestartAWaitGoesOnWhereItStood) {
  const Token token = claim(50);
  take(DeferStation{run, "work", token, 300, {}});
  clock.advance_ms(200);
  timers.arm_all(engine.world(), clock.wall_ns(), clock.monotonic_ns());
  EXPECT_EQ(next_ms(), 100);
  // A deadline that passed while the server was down is due at once.
  clock.advance_ms(1000);
  timers.arm_all(engine.world(), clock.wall_ns(), clock.monotonic_ns());
  EXPECT_EQ(next_ms(), 0);
  EXPECT_EQ(due(), Names{"wait"});
}

TEST_F(TimersTest, AfterARestartAWaitIsNoLongerThanOneCanBe) {
  constexpr std::int64_t year_ms = 365LL * 24 * 3600 * 1000;
  clock.set_by_ns = year_ms * 1'000'000;
  claim(50);
  clock.advance_ms(50);
  EXPECT_EQ(due(), Names{"lease"});
  clock.set_by_ns = 0;  // somebody corrects it
  timers.arm_all(engine.world(), clock.wall_ns(), clock.monotonic_ns());
  EXPECT_EQ(next_ms(), limits::backoff_ms_max);
  clock.advance_ms(limits::backoff_ms_max);
  EXPECT_EQ(due(), Names{"wait"});
  clock.set_by_ns = year_ms * 1'000'000;
  take(DeferStation{run, "work", claim(50), 300, {}});
  clock.set_by_ns = 0;
  timers.arm_all(engine.world(), clock.wall_ns(), clock.monotonic_ns());
  EXPECT_EQ(next_ms(), limits::defer_ms_max);
}

}  // namespace
}  // namespace signalbox
