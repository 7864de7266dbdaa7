// Tests what is shown of leases and loops as of a moment of the past.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>

#include <boost/json/serialize.hpp>

#include "server/replay/past_leases.h"
#include "server/replay/past_service.h"
#include "tests/fixtures/temporary_directory.h"
#include "tests/fixtures/wrapped_log.h"
#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

namespace json = boost::json;

class PastLeases : public ::testing::Test, protected RpcSite {
 protected:
  // Appends an event that concerns no lease, so that a moment of the past is the present one.
  void mark() { start_run(R"({"goal":"a moment"})"); }
  // Returns the result of a query as of the present position, from the log alone.
  json::value in_the_past(const std::string& method, const json::object& params) {
    auto past = PastService::open(log, scratch.path(), engine.world().position);
    if (!past) {
      ADD_FAILURE() << past.error().message;
      return nullptr;
    }
    json::object answer = (*past)->call(method, params);
    EXPECT_TRUE(answer.contains("result")) << json::serialize(answer);
    return answer["result"];
  }
  json::value lock() { return ask("lock.get", R"({"key":"deploy"})").at("result"); }
  json::value lock_in_the_past() { return in_the_past("lock.get", {{"key", "deploy"}}); }

  TemporaryDirectory scratch;
};

TEST_F(PastLeases, ALockEndsWhenItsLeaseDid) {  // O9
  ask("lock.acquire", R"({"key":"deploy","owner":"ops","lease_ms":60000})");
  clock.advance_ms(20'000);
  mark();
  EXPECT_EQ(lock_in_the_past(), lock());
  clock.advance_ms(45'000);
  mark();
  const json::value over = lock();
  EXPECT_EQ(over.at("lock").at("status"), "expired");
  EXPECT_EQ(lock_in_the_past(), over);
}

TEST_F(PastLeases, ALeaseThatAClockJumpBeganAnewLastsAsLongAsItDid) {  // O9
  ask("lock.acquire", R"({"key":"deploy","owner":"ops","lease_ms":60000})");
  clock.advance_ms(50'000);
  take(NoteClockJump{3'600'000, 10, "wall clock set"});
  timers.restart_leases(engine.world(), clock.monotonic_ns());
  clock.advance_ms(30'000);
  mark();
  const json::value held = lock();
  EXPECT_EQ(held.at("lock").at("status"), "held");
  EXPECT_EQ(lock_in_the_past(), held);
}

// A log that notes where it is read from.
class WatchedLog final : public test::WrappedLog {
 public:
  using WrappedLog::WrappedLog;
  Stored<Position> scan(Position from, Position to, const Visit& visit) const override {
    scanned_from = std::min(scanned_from, from);
    return WrappedLog::scan(from, to, visit);
  }

  mutable Position scanned_from = std::numeric_limits<Position>::max();
};

// Whoever goes on from a moment reads what came since, however long a lock is held.
TEST_F(PastLeases, WhatIsKnownOfLeasesIsNotReadAgain) {  // O4
  ask("lock.acquire", R"({"key":"deploy","owner":"ops","lease_ms":86400000})");
  for (int each = 0; each < 20; ++each) mark();
  const LeaseBegins known = lease_begins(log, engine.world()).value();
  EXPECT_EQ(known.begins.size(), 1U);
  clock.advance_ms(1000);
  ask("lock.acquire", R"({"key":"release","owner":"ops","lease_ms":60000})");
  for (const bool jumps : {false, true}) {
    if (jumps) take(NoteClockJump{3'600'000, 10, "wall clock set"});
    clock.advance_ms(1000);
    mark();
    const WatchedLog watched(log);
    const LeaseBegins found = lease_begins(watched, engine.world(), known).value();
    EXPECT_EQ(watched.scanned_from, known.position + 1);
    EXPECT_EQ(found.position, engine.world().position);
    EXPECT_EQ(found.begins, lease_begins(log, engine.world()).value().begins);
  }
  const WatchedLog watched(log);
  const LeaseBegins now = lease_begins(log, engine.world()).value();
  EXPECT_EQ(lease_begins(watched, engine.world(), now).value().begins, now.begins);
  EXPECT_GT(watched.scanned_from, log.tail()) << "nothing";
}

TEST_F(PastLeases, TheLoopsAreThoseOfTheLog) {  // O9
  EXPECT_TRUE(ask("loop.list").at("result").at("loops").as_array().empty());
  BeginTick begin;
  begin.loop = "heartbeat";
  begin.own_loop = true;
  begin.due_ns = clock.wall_ns();
  ASSERT_GT(take(begin), 0U);
  const json::value listed = in_the_past("loop.list", {});
  const json::array& shown = listed.at("loops").as_array();
  ASSERT_EQ(shown.size(), 1U);
  EXPECT_EQ(shown.front().at("loop"), "heartbeat");
  EXPECT_TRUE(shown.front().at("schedule").is_null());
  EXPECT_TRUE(shown.front().at("last_due_at").is_string());
  EXPECT_EQ(shown.front().at("tick").at("status"), "running");
}

}  // namespace
}  // namespace signalbox
