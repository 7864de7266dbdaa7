// Locks: which owner is granted or refused a lock, how it is renewed and released, and what is lost
// with it.
#include <gtest/gtest.h>

#include "tests/domain/given_when_then.h"

namespace signalbox {
namespace {

Event acquired(std::string owner, std::string key = "deploy") {
  return LockEvent{LockAcquired{std::move(key), std::move(owner), 1000, "because", ""}};
}

AcquireLock acquire(std::string owner, std::string key = "deploy") {
  AcquireLock command;
  command.key = std::move(key);
  command.owner = std::move(owner);
  command.lease_ms = 1000;
  command.reason = "because";
  return command;
}

class LockTest : public GivenWhenThen {
 protected:
  [[nodiscard]] std::string text(const std::string& key) const {
    for (const Detail& detail : rejection->details) {
      if (detail.key == key) return std::get<std::string>(detail.value);
    }
    return "no such detail";
  }
  [[nodiscard]] std::int64_t number(const std::string& key) const {
    for (const Detail& detail : rejection->details) {
      if (detail.key == key) return std::get<std::int64_t>(detail.value);
    }
    return -1;
  }
};

TEST_F(LockTest, AFreeLockIsGrantedAndItsTokenIsThePositionOfTheGrant) {  // L1
  when(acquire("ann"));
  then({acquired("ann")});
  const Lock* lock = world.find_lock("deploy");
  ASSERT_NE(lock, nullptr);
  EXPECT_EQ(lock->token, 1U);
  EXPECT_EQ(lock->expires_at_ns, now.wall_ns + 1'000'000'000);
  EXPECT_EQ(world.find_lock_by_token(1), lock);
}

TEST_F(LockTest, AHeldLockIsRefusedWithItsHolder) {  // L2
  given({acquired("ann")});
  when(acquire("bob"));
  then_rejected(ErrorCode::LOCK_HELD);
  EXPECT_EQ(text("owner"), "ann");
  EXPECT_EQ(text("reason"), "because");
  EXPECT_EQ(number("token"), 1);
  EXPECT_EQ(number("expires_at_ns"), now.wall_ns + 1'000'000'000);
  EXPECT_EQ(number("acquired_at_ns"), now.wall_ns);
  EXPECT_EQ(rejection->next_commands, (std::vector<std::string>{"signalbox lock get deploy"}));
}

// Two processes with the same owner name: without `extend` the second must not believe that it
// holds the first one's lock.
TEST_F(LockTest, TheSameNameIsRefusedWhereItsHoldIsNotToBeExtended) {  // L2
  given({acquired("ann")});
  AcquireLock command = acquire("ann");
  command.extend = false;
  when(command);
  then_rejected(ErrorCode::LOCK_HELD);
  EXPECT_EQ(text("owner"), "ann");
  EXPECT_NE(rejection->message.find("the request doesn't extend it"), std::string::npos);
  command.key = "other";
  when(command);
  then({acquired("ann", "other")});
}

TEST_F(LockTest, TheSameOwnerKeepsTheTokenAndGetsANewLease) {  // L2
  given({acquired("ann")});
  now.wall_ns += 500'000'000;
  when(acquire("ann"));
  then({LockEvent{LockRefreshed{"deploy", "ann", 1, 1000}}});
  EXPECT_EQ(world.find_lock("deploy")->token, 1U);
  EXPECT_EQ(world.find_lock("deploy")->expires_at_ns, now.wall_ns + 1'000'000'000);
}

// Of two requests under way the answer to the longer lease may be the only one that it hears.
TEST_F(LockTest, TheSameOwnerNeverLosesALongerLeaseByAskingForAShorterOne) {  // L2
  given({acquired("ann")});
  AcquireLock command = acquire("ann");
  command.lease_ms = 400;
  when(command);
  then({LockEvent{LockRefreshed{"deploy", "ann", 1, 1000}}});
  command.lease_ms = 3000;
  when(command);
  then({LockEvent{LockRefreshed{"deploy", "ann", 1, 3000}}});
}

TEST_F(LockTest, AfterATakeoverTheOldOwnerIsRefusedAndToldWhoHoldsIt) {  // L3
  given({acquired("ann")});
  when(ExpireLock{"deploy", 1, 1});
  then({LockEvent{LockExpired{"deploy", "ann", 1, ""}}});
  when(acquire("bob"));
  then({acquired("bob")});
  when(RefreshLock{"deploy", 1, {}, {}});
  then_rejected(ErrorCode::LOCK_NOT_OWNED);
  EXPECT_EQ(text("owner"), "ann");
  EXPECT_EQ(number("token"), 1);
  EXPECT_EQ(text("current_owner"), "bob");
  EXPECT_EQ(number("current_token"), 3);
  when(ReleaseLock{"deploy", 1, {}});
  then_rejected(ErrorCode::LOCK_NOT_OWNED);
  EXPECT_EQ(world.find_lock("deploy")->owner, "bob");
}

TEST_F(LockTest, ALeaseThatWasRenewedIsNotExpiredByTheOlderTimer) {
  given({acquired("ann"), LockEvent{LockRefreshed{"deploy", "ann", 1, 1000}}});
  when(ExpireLock{"deploy", 1, 1});
  then_nothing();
  when(ExpireLock{"deploy", 1, 2});
  then_names({"LockExpired"});
}

TEST_F(LockTest, ExpiredAndNotTakenOverItIsLostAllTheSame) {  // L9
  given({acquired("ann"), LockEvent{LockExpired{"deploy", "ann", 1, ""}}});
  when(RefreshLock{"deploy", 1, {}, {}});
  then_rejected(ErrorCode::LOCK_NOT_OWNED);
  EXPECT_EQ(text("current_owner"), "");
  when(ReleaseLock{"deploy", 1, {}});
  then_rejected(ErrorCode::LOCK_NOT_OWNED);
}

TEST_F(LockTest, ReleasedTwiceIsFine) {  // L6
  given({acquired("ann")});
  when(ReleaseLock{"deploy", 1, {}});
  then({LockEvent{LockReleased{"deploy", "ann", 1, ""}}});
  when(ReleaseLock{"deploy", 1, {}});
  then_nothing();
}

TEST_F(LockTest, AFailedRefreshIsNotedOnceForEachStreakOfAnOwner) {  // L5
  given({acquired("ann"), LockEvent{LockExpired{"deploy", "ann", 1, ""}}, acquired("bob")});
  when(NoteRefreshFailure{"deploy", 1, {}});
  then({LockEvent{LockRefreshFailed{"deploy", "ann", 1, "bob", 3}}});
  when(NoteRefreshFailure{"deploy", 1, {}});
  then_nothing();
  when(NoteRefreshFailure{"deploy", 2, "eve"});  // another owner's streak
  then_names({"LockRefreshFailed"});
  // The streak continues under the next holders, and ends when its owner holds the lock again.
  when(ReleaseLock{"deploy", 3, {}});
  when(NoteRefreshFailure{"deploy", 1, "ann"});
  then_nothing();
  when(acquire("ann"));
  const Token token = world.position;
  when(ReleaseLock{"deploy", token, {}});
  when(acquire("bob"));
  when(NoteRefreshFailure{"deploy", token, {}});
  then_names({"LockRefreshFailed"});
}

TEST_F(LockTest, OfALockThatNeverWasNothingIsNoted) {
  when(RefreshLock{"deploy", 1, {}, {}});
  then_rejected(ErrorCode::LOCK_NOT_OWNED);
  when(NoteRefreshFailure{"deploy", 1, {}});
  then_nothing();
}

TEST_F(LockTest, AFileThatIsNoLockMakesWay) {  // L4
  AcquireLock command = acquire("ann");
  command.run_root = "/root";
  command.file.kind = FoundLockFile::Kind::stale;
  command.file.path = "/root/.lock";
  command.file.problem = "empty";
  command.file.digest = digest_of(7);
  when(command);
  then({LockEvent{LockFileReplaced{"deploy", "/root/.lock", "empty", digest_of(7)}},
        LockEvent{LockAcquired{"deploy", "ann", 1000, "because", "/root"}}});
}

TEST_F(LockTest, AStrangersFreshFileIsAHolderAndAnExpiredOneIsTakenOver) {  // L4
  AcquireLock command = acquire("ann");
  command.file.kind = FoundLockFile::Kind::foreign;
  command.file.path = "/root/.lock";
  command.file.owner = "cron";
  command.file.reason = "nightly";
  command.file.expires_at_ns = now.wall_ns + 1;
  when(command);
  then_rejected(ErrorCode::LOCK_HELD);
  EXPECT_EQ(text("owner"), "cron");
  EXPECT_EQ(text("reason"), "nightly");
  command.file.expires_at_ns = now.wall_ns;
  when(command);
  then_names({"LockFileReplaced", "LockAcquired"});
}

TEST_F(LockTest, WhatTheLogSaysComesBeforeTheFile) {  // L4
  given({acquired("ann")});
  AcquireLock command = acquire("bob");
  command.file.kind = FoundLockFile::Kind::stale;
  when(command);
  then_rejected(ErrorCode::LOCK_HELD);
  EXPECT_EQ(text("owner"), "ann");
}

TEST_F(LockTest, WithTheLockGoTheAttemptAndTheTickThatHoldIt) {  // L8
  given({acquired("ann"), started({"one", {worker_station("a")}})});
  ClaimStation claim = claim_by("ann");
  claim.lock_token = 1;
  when(claim);
  const Token claim_token = world.position;
  BeginTick begin;
  begin.loop = "nightly";
  begin.lock_token = 1;
  when(begin);
  const Token tick_token = world.position;

  when(ExpireLock{"deploy", 1, 1});
  then_names({"LockExpired", "StationAttemptFailed", "TickFailed"});
  const auto* failed = event_as<StationAttemptFailed>(events[1].event);
  EXPECT_EQ(failed->failure.code, "LOCK_LOST");
  EXPECT_EQ(failed->failure.error_class, ErrorClass::lost);
  EXPECT_EQ(event_as<TickFailed>(events[2].event)->code, "LOCK_LOST");

  CompleteStation complete = end_of("a", claim_token);
  when(complete);
  then_rejected(ErrorCode::STALE_TOKEN);
  when(EndTick{"nightly", tick_token, TickOutcome::succeeded, {}});
  then_rejected(ErrorCode::STALE_TOKEN);
}

TEST_F(LockTest, WhatEndedBeforeItsLockIsNotEndedAgain) {
  given({acquired("ann"), started({"one", {worker_station("a")}})});
  ClaimStation claim = claim_by("ann");
  claim.lock_token = 1;
  when(claim);
  when(end_of("a", world.position));
  when(ReleaseLock{"deploy", 1, {}});
  then_names({"LockReleased"});
}

TEST_F(LockTest, NothingBeginsWithALockThatIsntHeld) {  // L8
  given({acquired("ann"), LockEvent{LockExpired{"deploy", "ann", 1, ""}},
         started({"one", {worker_station("a")}})});
  ClaimStation claim = claim_by("ann");
  claim.lock_token = 1;
  when(claim);
  then_rejected(ErrorCode::LOCK_LOST);
  BeginTick begin;
  begin.loop = "nightly";
  begin.lock_token = 1;
  when(begin);
  then_rejected(ErrorCode::LOCK_LOST);
}

TEST_F(LockTest, BadWordsAreRefusedBeforeAnythingElse) {
  given({acquired("ann")});
  AcquireLock command = acquire("");
  when(command);
  then_rejected(ErrorCode::INVALID_PARAMS);
  command = acquire("bob", "two\nlines");
  when(command);
  then_rejected(ErrorCode::INVALID_PARAMS);
  command = acquire("bob");
  command.lease_ms = 1;
  when(command);
  then_rejected(ErrorCode::INVALID_PARAMS);
  command = acquire("bob");
  command.run_root = "relative";
  when(command);
  then_rejected(ErrorCode::INVALID_PARAMS);
  command = acquire("bob");
  command.reason = std::string(limits::reason_bytes_max + 1, 'x');
  when(command);
  then_rejected(ErrorCode::LIMIT_EXCEEDED);
}

TEST_F(LockTest, WhatIsToBePastedIsQuoted) {
  given({acquired("ann", "it's here")});
  when(acquire("bob", "it's here"));
  then_rejected(ErrorCode::LOCK_HELD);
  EXPECT_EQ(rejection->next_commands,
            (std::vector<std::string>{R"(signalbox lock get 'it'\''s here')"}));
}

}  // namespace
}  // namespace signalbox
