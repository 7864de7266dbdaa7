// Tests waiting claims: the oldest is served first, each has its own deadline, none is served
// twice.
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>

#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

class EngineClaimQueue : public ::testing::Test, protected RpcSite {
 protected:
  std::shared_ptr<ListeningPeer> claim(const std::string& params) {
    return send_from("station.claim", params);
  }
  std::string start_run() {
    return RpcSite::start_run(
        R"({"goal":"g","pipeline":{"name":"p","station":[{"name":"work"}]}})");
  }
  void serve() {
    claims.serve(clock.monotonic_ns());
    commit_all();
  }
  static std::string claimed_run(ListeningPeer& worker) {
    if (worker.lines.empty()) return "waits";
    const auto answer = worker.next();
    if (answer.contains("error")) return code_of(answer);
    const auto& claim = answer.at("result").at("claim");
    return claim.is_null() ? "nothing" : std::string(claim.at("run_id").as_string());
  }
  // Completes the first of two stations with claim_next, while a claim with `params` waits.
  void complete_beside(const std::string& params) {
    run_id = RpcSite::start_run(
        R"({"goal":"g","pipeline":{"name":"p","station":[{"name":"work"},{"name":"test"}]}})");
    const auto held = ask("station.claim", R"({"worker":"busy"})").at("result").at("claim");
    patient = claim(params);
    completed = ask("station.complete",
                    boost::json::serialize(boost::json::object{{"run_id", run_id},
                                                               {"station", "work"},
                                                               {"token", held.at("token")},
                                                               {"outcome", "succeeded"},
                                                               {"claim_next", true}}))
                    .at("result")
                    .as_object();
  }

  std::string run_id;
  std::shared_ptr<ListeningPeer> patient;
  boost::json::object completed;
};

TEST_F(EngineClaimQueue, TheOldestIsServedFirst) {
  const auto first = claim(R"({"worker":"a","wait_ms":1000})");
  const auto second = claim(R"({"worker":"b","wait_ms":1000})");
  EXPECT_EQ(claims.size(), 2U);
  const std::string run = start_run();
  serve();
  EXPECT_EQ(claimed_run(*first), run);
  EXPECT_EQ(claimed_run(*second), "waits");
  const std::string next = start_run();
  serve();
  EXPECT_EQ(claimed_run(*second), next);
  EXPECT_EQ(claims.size(), 0U);
}

// A deadline of nobody would be due for ever, and the engine's thread would do nothing else.
TEST_F(EngineClaimQueue, OnceAllHaveLeftNothingIsDue) {  // P8
  const auto first = claim(R"({"worker":"a","wait_ms":1000})");
  const auto second = claim(R"({"worker":"b","wait_ms":5000})");
  claims.leave(*first);
  clock.advance_ms(1000);
  serve();
  ASSERT_TRUE(claims.next_due_ns().has_value());
  EXPECT_GT(*claims.next_due_ns(), clock.monotonic_ns());
  claims.leave(*second);
  EXPECT_EQ(claims.size(), 0U);
  clock.advance_ms(4000);
  serve();
  EXPECT_FALSE(claims.next_due_ns().has_value());
}

TEST_F(EngineClaimQueue, WhoAsksLaterDoesntOvertake) {
  const auto first = claim(R"({"worker":"a","wait_ms":1000})");
  const std::string run = start_run();
  const auto second = claim(R"({"worker":"b"})");
  commit_all();
  EXPECT_EQ(claimed_run(*first), run);
  EXPECT_EQ(claimed_run(*second), "nothing");
}

TEST_F(EngineClaimQueue, AClaimOfOneRunDoesntOvertake) {
  const auto first = claim(R"({"worker":"a","wait_ms":1000})");
  const std::string run = start_run();
  const auto second = claim(R"({"worker":"b","wait_ms":1000,"run_id":")" + run + "\"}");
  commit_all();
  EXPECT_EQ(claimed_run(*first), run);
  EXPECT_EQ(claimed_run(*second), "waits");
}

TEST_F(EngineClaimQueue, WhoWaitsForItGetsTheNextStation) {
  complete_beside(R"({"worker":"waiting","wait_ms":1000})");
  EXPECT_FALSE(completed.contains("claim"));
  EXPECT_EQ(completed.at("station_status"), "succeeded");
  EXPECT_EQ(claimed_run(*patient), run_id);
}

TEST_F(EngineClaimQueue, TheNextStationIsThatOfWhoCompletesIfNobodyWaitsForIt) {
  complete_beside(R"({"worker":"picky","wait_ms":1000,"stations":["work"]})");
  EXPECT_EQ(completed.at("claim").at("station"), "test");
  EXPECT_EQ(claimed_run(*patient), "waits");
}

TEST_F(EngineClaimQueue, ARepeatedClaimIsServedOnce) {
  const std::string params = R"({"worker":"a","wait_ms":1000,"command_id":"c-1"})";
  const auto first = claim(params);
  const std::string run = start_run();
  start_run();
  const auto again = claim(params);
  commit_all();
  EXPECT_EQ(claimed_run(*first), run);
  EXPECT_EQ(claimed_run(*again), run);
  EXPECT_EQ(engine.world().ready.size(), 1U);
}

TEST_F(EngineClaimQueue, WhoseTimeIsOverGetsNothing) {
  const auto early = claim(R"({"worker":"a","wait_ms":10})");
  const auto late = claim(R"({"worker":"b","wait_ms":20})");
  EXPECT_EQ(claims_begun, 2) << "nobody would look at the deadlines of an idle service";
  EXPECT_EQ(claims.next_due_ns(), clock.monotonic_ns() + 10'000'000);
  clock.advance_ms(10);
  serve();
  EXPECT_EQ(claimed_run(*early), "nothing");
  EXPECT_EQ(claimed_run(*late), "waits");
  clock.advance_ms(10);
  serve();
  EXPECT_EQ(claimed_run(*late), "nothing");
  EXPECT_EQ(claims.next_due_ns(), std::nullopt);
}

TEST_F(EngineClaimQueue, WhoIsGoneIsGivenNothing) {
  const auto disconnected = claim(R"({"worker":"a","wait_ms":1000})");
  const auto here = claim(R"({"worker":"b","wait_ms":1000})");
  disconnected->is_closed = true;
  const std::string run = start_run();
  serve();
  EXPECT_EQ(claimed_run(*here), run);
}

TEST_F(EngineClaimQueue, WhoWantsAnotherStationWaitsOn) {
  const auto picky = claim(R"({"worker":"a","wait_ms":1000,"stations":["other"]})");
  const auto other = claim(R"({"worker":"b","wait_ms":1000})");
  const std::string run = start_run();
  serve();
  EXPECT_EQ(claimed_run(*picky), "waits");
  EXPECT_EQ(claimed_run(*other), run);
}

TEST_F(EngineClaimQueue, OneCommandIdIsOneClaim) {
  const std::string params = R"({"worker":"a","wait_ms":1000,"command_id":"c-1"})";
  const auto first = claim(params);
  const auto again = claim(params);
  const std::string run = start_run();
  const std::string other_run = start_run();
  serve();
  const auto answer = first->next();
  const auto answer_again = again->next();
  EXPECT_EQ(answer.at("result").at("claim").at("run_id"), boost::json::value(run));
  EXPECT_EQ(answer_again.at("result").at("claim"), answer.at("result").at("claim"));
  EXPECT_EQ(answer_again.at("result").at("replayed"), true);
  EXPECT_EQ(engine.world().ready.size(), 1U);
}

TEST_F(EngineClaimQueue, AClaimOfOneRunHearsOfItsEnd) {
  const std::string run = start_run();
  const auto holder = claim(R"({"worker":"a"})");
  commit_all();
  EXPECT_EQ(claimed_run(*holder), run);
  const auto waiting = claim(R"({"worker":"b","wait_ms":1000,"run_id":")" + run + "\"}");
  EXPECT_EQ(claimed_run(*waiting), "waits");
  ask("run.cancel", R"({"run_id":")" + run + "\"}");
  serve();
  EXPECT_EQ(claimed_run(*waiting), "RUN_TERMINAL");
}

// L8: nothing depends on the lock while its claim waits, so that it lingers when its lease is over.
TEST_F(EngineClaimQueue, ALockIsLostBeforeItsClaimIsServed) {
  const auto lock = ask("lock.acquire", R"({"key":"main","owner":"a","lease_ms":1000})");
  const std::string token =
      std::to_string(lock.at("result").at("token").to_number<std::uint64_t>());
  const auto worker = claim(R"({"worker":"a","wait_ms":60000,"lock_token":)" + token + "}");
  clock.advance_ms(1000);
  start_run();
  serve();
  EXPECT_EQ(claimed_run(*worker), "LOCK_LOST");
  EXPECT_EQ(engine.world().find_lock("main"), nullptr);
}

TEST_F(EngineClaimQueue, AllAreRefusedAtTheEnd) {
  const auto worker = claim(R"({"worker":"a","wait_ms":1000})");
  claims.refuse_all({ErrorCode::SHUTTING_DOWN, "the end", {}, {}});
  EXPECT_EQ(claimed_run(*worker), "SHUTTING_DOWN");
  EXPECT_EQ(claims.size(), 0U);
}

TEST_F(EngineClaimQueue, HasABound) {
  const std::string params = R"({"worker":"a","wait_ms":1000})";
  for (std::size_t count = 0; count < waiting_of_sender_max; ++count) claim(params);
  EXPECT_EQ(claimed_run(*claim(params)), "OVERLOADED") << "it has its share";
  for (std::size_t count = waiting_of_sender_max; count < waiting_claims_max; ++count) {
    send_from("station.claim", params, "uid:2");
  }
  EXPECT_EQ(claims.size(), waiting_claims_max);
  EXPECT_EQ(claimed_run(*send_from("station.claim", params, "uid:3")), "OVERLOADED");
}

}  // namespace
}  // namespace signalbox
