// Tests waiting for a lock: the order of grants, and what ends a wait.
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>

#include "tests/server/rpc_lock_site.h"

namespace signalbox {
namespace {

namespace json = boost::json;

TEST_F(RpcLock, WhoWaitsGetsItInTheOrderOfArrival) {
  acquire("ann");
  const auto bob = waiter("bob");
  const auto eve = waiter("eve");
  serve();
  EXPECT_EQ(outcome(*bob), "waits");
  EXPECT_EQ(locks.size(), 2U);
  // A request between the release and the next turn doesn't overtake those that wait.
  send(R"({"jsonrpc":"2.0","id":1,"method":"lock.release","params":{"key":"deploy","token":1}})");
  const auto pushing = send_from("lock.acquire", R"({"key":"deploy","owner":"max"})");
  serve();
  EXPECT_EQ(peer->next().at("result").at("released"), true);
  EXPECT_EQ(outcome(*pushing), "LOCK_HELD");
  const auto granted = bob->next();
  EXPECT_EQ(granted.at("result").at("owner"), "bob");
  EXPECT_EQ(outcome(*eve), "waits");
  call_lock("lock.release", token_of(granted));
  serve();
  EXPECT_EQ(outcome(*eve), "eve");
  EXPECT_EQ(locks.size(), 0U);
}

TEST_F(RpcLock, WhoWaitsTakesOverInOneCommitAtTheEndOfTheLease) {  // L3
  acquire("ann");
  const auto bob = waiter("bob");
  EXPECT_EQ(locks.next_due_ns(), clock.monotonic_ns() + 1'000'000'000);
  clock.advance_ms(999);
  serve();
  EXPECT_EQ(outcome(*bob), "waits");
  clock.advance_ms(1);
  serve();
  EXPECT_EQ(outcome(*bob), "bob");
  EXPECT_EQ(commits(), (std::vector<std::string>{"LockAcquired", "LockExpired LockAcquired"}));
}

TEST_F(RpcLock, WhoMayNotExtendItsOwnNamesHoldWaitsForIt) {  // L2
  const auto held = acquire("ann");
  EXPECT_EQ(code_of(acquire("ann", R"(,"extend":false)")), "LOCK_HELD");
  const auto other = waiter("ann", R"(,"extend":false)");
  serve();
  EXPECT_EQ(outcome(*other), "waits");
  call_lock("lock.release", token_of(held));
  serve();
  const auto granted = other->next();
  EXPECT_EQ(granted.at("result").at("extended"), false);
  EXPECT_NE(token_of(granted), token_of(held));
}

TEST_F(RpcLock, TheLeaseThatIsWaitedForMayBecomeLongerOrShorter) {
  acquire("ann");
  const auto bob = waiter("bob");
  clock.advance_ms(500);
  call_lock("lock.refresh", 1, R"(,"lease_ms":3000)");
  clock.advance_ms(600);
  serve();
  EXPECT_EQ(outcome(*bob), "waits");
  call_lock("lock.refresh", 1, R"(,"lease_ms":100)");
  EXPECT_EQ(locks.next_due_ns(), clock.monotonic_ns() + 100'000'000);
  clock.advance_ms(100);
  serve();
  EXPECT_EQ(outcome(*bob), "bob");
}

TEST_F(RpcLock, OfManyTakersOfALockThatIsOverExactlyOneWins) {  // L9
  acquire("ann");
  clock.advance_ms(1000);
  std::vector<std::shared_ptr<ListeningPeer>> takers;
  for (int count = 0; count < 20; ++count) {
    takers.push_back(send_from(
        "lock.acquire", R"({"key":"deploy","owner":"taker-)" + std::to_string(count) + "\"}"));
  }
  commit_all();
  int winners = 0;
  for (const auto& taker : takers) winners += outcome(*taker).starts_with("taker-") ? 1 : 0;
  EXPECT_EQ(winners, 1);
}

TEST_F(RpcLock, WhoseTimeIsOverIsToldTheHolder) {  // L2
  acquire("ann", R"(,"reason":"r")");
  const auto bob = send_from("lock.acquire", R"({"key":"deploy","owner":"bob","wait_ms":10})");
  clock.advance_ms(10);
  serve();
  const auto refused = bob->next();
  EXPECT_EQ(code_of(refused), "LOCK_HELD");
  EXPECT_EQ(details_of(refused).at("owner"), "ann");
  EXPECT_EQ(details_of(refused).at("reason"), "r");
}

TEST_F(RpcLock, WhoIsGoneIsGivenNothing) {
  acquire("ann");
  const auto disconnected = waiter("bob");
  const auto eve = waiter("eve");
  disconnected->is_closed = true;
  call_lock("lock.release", 1);
  serve();
  EXPECT_EQ(outcome(*disconnected), "waits");
  EXPECT_EQ(outcome(*eve), "eve");
}

TEST_F(RpcLock, TwoWaitsUnderOneCommandIdAreOneGrant) {
  acquire("ann");
  const auto first = waiter("bob", R"(,"command_id":"c")");
  const auto again = waiter("bob", R"(,"command_id":"c")");
  call_lock("lock.release", 1);
  serve();
  EXPECT_EQ(outcome(*first), "bob");
  EXPECT_EQ(again->next().at("result").at("replayed"), true);
  EXPECT_EQ(locks.size(), 0U);
}

TEST_F(RpcLock, WaitsAreBoundedAndRefusedAtTheEnd) {
  acquire("ann");
  std::vector<std::shared_ptr<ListeningPeer>> waiting;
  for (std::size_t count = 0; count < waiting_of_sender_max; ++count) {
    waiting.push_back(waiter("bob"));
  }
  EXPECT_EQ(outcome(*waiter("eve")), "OVERLOADED") << "the sender has its share";
  for (std::size_t count = waiting_of_sender_max; count < waiting_locks_max; ++count) {
    waiting.push_back(waiter("bob", {}, "uid:2"));
  }
  EXPECT_EQ(outcome(*waiter("eve", {}, "uid:3")), "OVERLOADED");
  EXPECT_EQ(outcome(*send_from("lock.acquire", R"({"key":"deploy","owner":"eve"})")), "LOCK_HELD")
      << "who doesn't wait needs no place";
  waiting.front()->is_closed = true;  // its slot becomes free
  const auto last = waiter("eve", {}, "uid:3");
  EXPECT_EQ(outcome(*last), "waits");
  locks.refuse_all({ErrorCode::SHUTTING_DOWN, "the end", {}, {}});
  EXPECT_EQ(outcome(*last), "SHUTTING_DOWN");
  EXPECT_EQ(locks.size(), 0U);
}

TEST_F(RpcLock, BadWordsAreRefusedBeforeTheyWait) {
  acquire("ann");
  for (const char* params :
       {R"({"key":"","owner":"bob","wait_ms":1000})", R"({"key":"deploy","owner":"","wait_ms":1})",
        R"({"key":"deploy","owner":"bob","lease_ms":1,"wait_ms":1000})",
        R"({"key":"deploy","owner":"bob","run_root":"relative"})", R"({"key":"deploy"})"}) {
    EXPECT_EQ(code_of(ask("lock.acquire", params)), "INVALID_PARAMS") << params;
  }
  EXPECT_EQ(locks.size(), 0U);
}

}  // namespace
}  // namespace signalbox
