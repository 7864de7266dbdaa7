// The limits of the commands about locks, and of what is remembered of locks that ended. P8
#include <gtest/gtest.h>

#include <vector>

#include "tests/domain/limits_fixture.h"

namespace signalbox {
namespace {

class LockLimits : public LimitsTest {
 protected:
  LockLimits() {
    acquire.key = "deploy";
    acquire.owner = "ann";
  }
  static Event acquired_by_ann(const std::string& key) {
    return LockEvent{LockAcquired{key, "ann", 1000, "", ""}};
  }
  AcquireLock acquire;
};

TEST_F(LockLimits, OfAnAcquire) {
  expect_bytes_max("key", limits::name_bytes_max, with_field(acquire, &AcquireLock::key));
  expect_bytes_max("owner", limits::name_bytes_max, with_field(acquire, &AcquireLock::owner));
  expect_bytes_max("reason", limits::reason_bytes_max, with_field(acquire, &AcquireLock::reason));
  expect_bytes_max("run_root", limits::path_bytes_max, with_field(acquire, &AcquireLock::run_root),
                   '/');
  expect_between("lease_ms", limits::lease_ms_min, limits::lease_ms_max,
                 with_field(acquire, &AcquireLock::lease_ms));
}

TEST_F(LockLimits, OfARefresh) {
  given({acquired_by_ann("deploy")});
  expect_between("lease_ms", limits::lease_ms_min, limits::lease_ms_max,
                 with_field(RefreshLock{"deploy", 1, {}, {}}, &RefreshLock::lease_ms));
}

TEST_F(LockLimits, WithoutALeaseItIsTheDefault) {
  when(acquire);
  then({LockEvent{LockAcquired{"deploy", "ann", limits::lock_lease_ms_default, "", ""}}});
}

TEST_F(LockLimits, OfTheLocksThatAreHeld) {
  given({acquired_by_ann("deploy")});
  AcquireLock other = acquire;
  other.key = "other";
  while (world.locks.size() < limits::locks_max - 1) {
    world.locks["lock " + std::to_string(world.locks.size())];
  }
  EXPECT_EQ(refusal_of(other), std::nullopt);
  world.locks["the last one"];
  EXPECT_EQ(refusal_of(other), ErrorCode::LIMIT_EXCEEDED);
  EXPECT_EQ(refusal_of(acquire), std::nullopt) << "a lock that is held can still be renewed";
}

// They may be renewed for ever, so that one sender could keep all others from working.
TEST_F(LockLimits, OfTheLocksOfOneSender) {  // G7
  const auto acquire_as = [this](const std::string& sender, Token job_token) {
    Now moment = now;
    moment.by = {sender, /*acts_for_all=*/false, job_token, {}};
    const auto decided = decide(world, acquire, moment);
    return decided ? std::nullopt : std::optional(decided.error().code);
  };
  const auto set_locks = [this](const std::string& sender, std::size_t count) {
    world.locks.clear();
    world.locks_of_holder = {{sender, count}};
    for (Token token = 1; token <= count; ++token) {
      world.locks["lock " + std::to_string(token)].token = token;
    }
  };
  set_locks("job:1/a/1", limits::locks_of_job_max - 1);
  EXPECT_EQ(acquire_as("job:1/a/1", 7), std::nullopt);
  set_locks("job:1/a/1", limits::locks_of_job_max);
  EXPECT_EQ(acquire_as("job:1/a/1", 7), ErrorCode::LIMIT_EXCEEDED);
  EXPECT_EQ(acquire_as("job:1/a/2", 8), std::nullopt);
  EXPECT_EQ(acquire_as("uid:1", 0), std::nullopt);
  set_locks("token:a", limits::locks_of_sender_max - 1);
  EXPECT_EQ(acquire_as("token:a", 0), std::nullopt);
  set_locks("token:a", limits::locks_of_sender_max);
  EXPECT_EQ(acquire_as("token:a", 0), ErrorCode::LIMIT_EXCEEDED);
  EXPECT_EQ(acquire_as("token:b", 0), std::nullopt);
}

TEST_F(LockLimits, OfTheLocksOfOneSenderCountThoseThatAreHeld) {  // G7
  given({acquired_by_ann("deploy"), acquired_by_ann("other")});
  const std::string sender = world.holders.at(1);
  EXPECT_EQ(world.locks_of_holder.at(sender), 2U);
  given({LockEvent{LockReleased{"deploy", "ann", 1, ""}}});
  EXPECT_EQ(world.locks_of_holder.at(sender), 1U);
  given({LockEvent{LockExpired{"other", "ann", 2, ""}}});
  EXPECT_TRUE(world.locks_of_holder.empty());
}

// Owners of one lock beyond the limit are noted again, the oldest first.
TEST_F(LockLimits, OfTheOwnersWhoseRefreshesFail) {  // L5
  given({acquired_by_ann("deploy")});
  const auto fail = [this](std::size_t owner) {
    when(NoteRefreshFailure{"deploy", 99, "owner " + std::to_string(owner)});
  };
  for (std::size_t owner = 1; owner <= limits::failing_owners_max; ++owner) {
    fail(owner);
    then_names({"LockRefreshFailed"});
  }
  fail(1);
  then_nothing();
  fail(limits::failing_owners_max + 1);
  then_names({"LockRefreshFailed"});
  fail(2);
  then_nothing();
  fail(1);
  then_names({"LockRefreshFailed"});
}

TEST_F(LockLimits, OfTheEndedLocksThatAreRemembered) {
  const auto hold_and_release = [](std::size_t number) {
    const std::string key = "lock " + std::to_string(number);
    return std::vector<Event>{
        acquired_by_ann(key),
        LockEvent{LockReleased{key, "ann", static_cast<Token>(2 * number - 1), ""}}};
  };
  std::vector<Event> past;
  for (std::size_t number = 1; number <= limits::remembered_ended_locks_max; ++number) {
    for (const Event& event : hold_and_release(number)) past.push_back(event);
  }
  given(past);
  EXPECT_EQ(world.ended_locks.size(), limits::remembered_ended_locks_max);
  EXPECT_NE(world.ended_locks.find("lock 1"), nullptr);
  given(hold_and_release(limits::remembered_ended_locks_max + 1));
  EXPECT_EQ(world.ended_locks.size(), limits::remembered_ended_locks_max);
  EXPECT_EQ(world.ended_locks.find("lock 1"), nullptr);
  EXPECT_NE(world.ended_locks.find("lock 2"), nullptr);
}

}  // namespace
}  // namespace signalbox
