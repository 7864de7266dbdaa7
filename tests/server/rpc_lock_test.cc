// Tests `lock.*`, method by method: who gets a lock, and the errors for all others.
#include <gtest/gtest.h>

#include <algorithm>

#include <boost/json/serialize.hpp>

#include "server/text/time_text.h"
#include "tests/server/rpc_lock_site.h"

namespace signalbox {
namespace {

namespace json = boost::json;

TEST_F(RpcLock, IsGrantedAndTellsWhatWasGranted) {  // L1
  const auto answer = acquire("ann", R"(,"reason":"release 1.4")");
  const json::object& result = answer.at("result").as_object();
  EXPECT_EQ(result.at("key"), "deploy");
  EXPECT_EQ(result.at("owner"), "ann");
  EXPECT_EQ(result.at("token"), 1);
  EXPECT_EQ(result.at("lease_ms"), 1000);
  EXPECT_EQ(result.at("reason"), "release 1.4");
  EXPECT_EQ(result.at("expires_at"), json::value(format_time(clock.wall_ns() + 1'000'000'000)));
  EXPECT_EQ(commits(), (std::vector<std::string>{"LockAcquired"}));
}

TEST_F(RpcLock, HeldByAnotherTellsByWhomSinceWhenAndWhy) {  // L2
  acquire("ann", R"(,"reason":"release 1.4")");
  clock.advance_ms(400);
  const auto refused = acquire("bob");
  EXPECT_EQ(code_of(refused), "LOCK_HELD");
  EXPECT_EQ(details_of(refused),
            (json::object{{"key", "deploy"},
                          {"owner", "ann"},
                          {"token", 1},
                          {"reason", "release 1.4"},
                          {"expires_at", format_time(clock.wall_ns() + 600'000'000)},
                          {"acquired_at", format_time(clock.wall_ns() - 400'000'000)}}));
}

TEST_F(RpcLock, TheSameOwnerExtendsItsLeaseAndKeepsItsToken) {  // L2
  acquire("ann", R"(,"reason":"release 1.4")");
  clock.advance_ms(900);
  const auto again = acquire("ann");
  EXPECT_EQ(token_of(again), 1U);
  EXPECT_EQ(again.at("result").at("extended"), true);
  EXPECT_EQ(again.at("result").at("reason"), "release 1.4");
  clock.advance_ms(900);
  EXPECT_EQ(code_of(acquire("bob")), "LOCK_HELD");
  EXPECT_EQ(commits(), (std::vector<std::string>{"LockAcquired", "LockRefreshed"}));
}

TEST_F(RpcLock, IsTakenOverInOneCommitWhenItsLeaseIsOver) {  // L3
  acquire("ann");
  clock.advance_ms(1000);
  const auto taken = acquire("bob");
  EXPECT_EQ(token_of(taken), 3U);
  EXPECT_EQ(commits(), (std::vector<std::string>{"LockAcquired", "LockExpired LockAcquired"}));
  for (const char* method : {"lock.refresh", "lock.release"}) {
    const auto refused = call_lock(method, 1);
    EXPECT_EQ(code_of(refused), "LOCK_NOT_OWNED") << method;
    EXPECT_EQ(details_of(refused), (json::object{{"key", "deploy"},
                                                 {"owner", "ann"},
                                                 {"token", 1},
                                                 {"current_owner", "bob"},
                                                 {"current_token", 3}}));
  }
}

TEST_F(RpcLock, AHolderWhoComesTooLateIsRefusedBeforeAnybodyTookItOver) {  // L9
  acquire("ann");
  clock.advance_ms(1000);
  const auto late = call_lock("lock.refresh", 1);
  EXPECT_EQ(code_of(late), "LOCK_NOT_OWNED");
  EXPECT_EQ(details_of(late).at("owner"), "ann");
  EXPECT_EQ(details_of(late).at("current_owner"), "");
  EXPECT_EQ(commits(), (std::vector<std::string>{"LockAcquired", "LockExpired LockRefreshFailed"}));
  EXPECT_EQ(code_of(call_lock("lock.release", 1)), "LOCK_NOT_OWNED");
}

TEST_F(RpcLock, ARefreshCountsFromNow) {  // L5
  acquire("ann");
  clock.advance_ms(900);
  const auto refreshed = call_lock("lock.refresh", 1, R"(,"lease_ms":5000)");
  EXPECT_EQ(refreshed.at("result").at("expires_at"),
            json::value(format_time(clock.wall_ns() + 5'000'000'000)));
  clock.advance_ms(4999);
  EXPECT_EQ(code_of(acquire("bob")), "LOCK_HELD");
  clock.advance_ms(1);
  EXPECT_EQ(code_of(acquire("bob")), "");
}

TEST_F(RpcLock, AFailingStreakIsOneEvent) {  // L5
  acquire("ann");
  for (int count = 0; count < 20; ++count) {
    EXPECT_EQ(code_of(call_lock("lock.refresh", 4711,
                                R"(,"command_id":"c-)" + std::to_string(count) + "\"")),
              "LOCK_NOT_OWNED");
  }
  EXPECT_EQ(commits(), (std::vector<std::string>{"LockAcquired", "LockRefreshFailed"}));
}

TEST_F(RpcLock, ARefusalIsNotTheResultOfItsCommandId) {  // L5
  acquire("ann");
  const std::string params = R"({"key":"deploy","token":9,"command_id":"c"})";
  EXPECT_EQ(code_of(ask("lock.refresh", params)), "LOCK_NOT_OWNED");
  EXPECT_EQ(code_of(ask("lock.refresh", params)), "LOCK_NOT_OWNED") << "decided again";
}

TEST_F(RpcLock, TheLogTellsWhoseAnOldTokenWas) {  // L3
  acquire("ann");
  call_lock("lock.release", 1);
  acquire("bob");
  call_lock("lock.release", 3);
  acquire("eve");
  const auto refused = call_lock("lock.refresh", 1);
  EXPECT_EQ(details_of(refused).at("owner"), "ann");
  EXPECT_EQ(details_of(refused).at("current_owner"), "eve");
  EXPECT_EQ(details_of(call_lock("lock.refresh", 2)).at("owner"), "") << "no grant";
  EXPECT_EQ(details_of(call_lock("lock.refresh", 4711)).at("owner"), "") << "beyond the log";
}

TEST_F(RpcLock, IsReleasedOnce) {  // L6
  acquire("ann");
  EXPECT_EQ(call_lock("lock.release", 1).at("result").at("released"), true);
  EXPECT_EQ(call_lock("lock.release", 1).at("result").at("released"), false);
  EXPECT_EQ(commits(), (std::vector<std::string>{"LockAcquired", "LockReleased"}));
}

TEST_F(RpcLock, ARepeatedCommandGetsTheFirstResult) {
  const std::string more = R"(,"reason":"r","command_id":"c-1")";
  auto first = acquire("ann", more);
  call_lock("lock.release", 1, R"(,"command_id":"c-2")");
  acquire("bob");
  auto again = acquire("ann", more);
  EXPECT_EQ(again.at("result").at("replayed"), true);
  for (json::object* each : {&first, &again}) {
    (*each)["result"].as_object().erase("replayed");
    (*each)["result"].as_object().erase("position");
  }
  EXPECT_EQ(again, first);
  const auto released = call_lock("lock.release", 1, R"(,"command_id":"c-2")");
  EXPECT_EQ(released.at("result").at("released"), true);
  EXPECT_EQ(released.at("result").at("replayed"), true);
}

TEST_F(RpcLock, GetTellsHeldOverAndFree) {
  const auto state = [this] { return ask("lock.get", R"({"key":"deploy"})").at("result"); };
  EXPECT_TRUE(state().at("lock").is_null());
  EXPECT_TRUE(state().at("last").is_null());
  acquire("ann", R"(,"reason":"r")");
  const auto bob = waiter("bob");
  EXPECT_EQ(state().at("lock").at("status"), "held");
  EXPECT_EQ(state().at("lock").at("owner"), "ann");
  EXPECT_EQ(state().at("waiting"), 1);
  bob->is_closed = true;
  clock.advance_ms(1000);
  EXPECT_EQ(state().at("lock").at("status"), "expired");
  serve();
  clock.advance_ms(limits::lock_linger_ms_max);
  serve();
  EXPECT_TRUE(state().at("lock").is_null());
  EXPECT_EQ(state().at("last").at("owner"), "ann");
  EXPECT_EQ(state().at("last").at("ended"), "expired");
  EXPECT_EQ(state().at("waiting"), 0);
}

TEST_F(RpcLock, AfterARestartTheLeaseBeginsAnewAndIsToldSo) {
  acquire("ann");
  clock.advance_ms(900);
  timers.arm_all(engine.world(), clock.wall_ns(), clock.monotonic_ns());
  clock.advance_ms(999);
  const auto refused = acquire("bob");
  EXPECT_EQ(code_of(refused), "LOCK_HELD");
  EXPECT_EQ(details_of(refused).at("expires_at"),
            json::value(format_time(clock.wall_ns() + 1'000'000)));
  clock.advance_ms(1);
  EXPECT_EQ(code_of(acquire("bob")), "");
}

TEST_F(RpcLock, AListIsPagedByKeyAndFiltered) {
  for (int count = 0; count < 25; ++count) {
    const std::string number = std::to_string(100 + count);
    ask("lock.acquire",
        R"({"key":"a/)" + number + R"(","owner":")" + (count % 2 == 0 ? "even" : "odd") + "\"}");
  }
  ask("lock.acquire", R"({"key":"b","owner":"even"})");
  std::vector<std::string> keys;
  json::value cursor = nullptr;
  int pages = 0;
  do {
    json::object params{{"prefix", "a/"}, {"owner", "even"}, {"limit", 5}};
    if (!cursor.is_null()) params["cursor"] = cursor;
    const auto page = ask("lock.list", json::serialize(params)).at("result").as_object();
    for (const auto& each : page.at("locks").as_array()) {
      keys.emplace_back(each.at("key").as_string());
    }
    cursor = page.at("next_cursor");
    ++pages;
  } while (!cursor.is_null());
  EXPECT_EQ(pages, 3);
  EXPECT_EQ(keys.size(), 13U);
  EXPECT_EQ(keys.front(), "a/100");
  EXPECT_EQ(keys.back(), "a/124");
  EXPECT_TRUE(std::is_sorted(keys.begin(), keys.end()));
}

// With run roots.

}  // namespace
}  // namespace signalbox
