// `server.pause`, `server.resume` and `server.in_flight`, and what other methods say of a paused
// service. O2.
#include <string>

#include <boost/json/serialize.hpp>

#include "tests/server/board_site.h"

namespace signalbox {
namespace {

namespace json = boost::json;

constexpr const char* two_worker_stations =
    R"({"goal":"a parser","pipeline":{"name":"w","station":[{"name":"build"},{"name":"ship"}]}})";

class RpcServicePause : public BoardSite {
 protected:
  json::object pause(const std::string& reason = "an upgrade") {
    return ask("server.pause", R"({"reason":")" + reason + "\"}").at("result").as_object();
  }
  json::object resume() { return ask("server.resume").at("result").as_object(); }
  json::object in_flight() { return ask("server.in_flight").at("result").as_object(); }
  json::object claim() {
    return ask("station.claim", R"({"worker":"ann"})").at("result").as_object();
  }
};

TEST_F(RpcServicePause, SaysWhoPausedItAndWhy) {  // O2
  const json::object paused = pause();
  EXPECT_EQ(paused.at("changed"), true);
  EXPECT_EQ(paused.at("paused").at("by"), "uid:1");
  EXPECT_EQ(paused.at("paused").at("reason"), "an upgrade");
  EXPECT_EQ(paused.at("paused").at("position"), log.tail());
  EXPECT_TRUE(paused.at("paused").at("since").is_string());
  const json::object again = pause("another");
  EXPECT_EQ(again.at("changed"), false);
  EXPECT_EQ(again.at("paused"), paused.at("paused"));
  EXPECT_EQ(ask("server.status").at("result").at("paused"), paused.at("paused"));
  EXPECT_EQ(ask("board.get").at("result").at("paused"), paused.at("paused"));
  EXPECT_EQ(event_types(), std::vector<std::string>{"ServicePaused"});

  EXPECT_EQ(resume().at("changed"), true);
  EXPECT_EQ(resume().at("changed"), false);
  EXPECT_TRUE(ask("server.status").at("result").at("paused").is_null());
}

TEST_F(RpcServicePause, ARepeatedCommandGetsTheFirstAnswer) {  // O2
  const std::string params = R"({"reason":"an upgrade","command_id":"c1"})";
  const auto first = ask("server.pause", params).at("result").as_object();
  resume();
  const auto again = ask("server.pause", params).at("result").as_object();
  EXPECT_EQ(again.at("replayed"), true);
  EXPECT_EQ(again.at("changed"), true);
  EXPECT_EQ(again.at("paused"), first.at("paused"));
  EXPECT_TRUE(ask("server.status").at("result").at("paused").is_null());
}

TEST_F(RpcServicePause, AWorkerGetsNothingAndTheReason) {  // O2
  start_run(two_worker_stations);
  EXPECT_FALSE(claim().at("claim").is_null());
  start_run(two_worker_stations);
  pause();
  const json::object none = claim();
  EXPECT_TRUE(none.at("claim").is_null());
  EXPECT_EQ(none.at("paused").at("reason"), "an upgrade");
  EXPECT_EQ(none.at("next_commands"), json::array{"signalbox resume --all"});
  resume();
  EXPECT_FALSE(claim().at("claim").is_null());
}

// It waits as if no station were ready, and gets the one that is when the service is resumed.
TEST_F(RpcServicePause, AWaitingClaimIsServedAfterwards) {  // O2
  start_run(two_worker_stations);
  pause();
  const auto worker = send_from("station.claim", R"({"worker":"ann","wait_ms":60000})");
  settle();
  claims.serve(clock.monotonic_ns());
  settle();
  EXPECT_TRUE(worker->lines.empty());
  resume();
  claims.serve(clock.monotonic_ns());
  settle();
  ASSERT_FALSE(worker->lines.empty());
  EXPECT_FALSE(worker->next().at("result").at("claim").is_null());
}

TEST_F(RpcServicePause, AClaimThatWaitsInVainGetsTheReason) {  // O2
  start_run(two_worker_stations);
  const auto worker = send_from("station.claim", R"({"worker":"ann","wait_ms":60000})");
  settle();
  ASSERT_FALSE(worker->lines.empty());
  const auto waiting = send_from("station.claim", R"({"worker":"bob","wait_ms":60000})");
  settle();
  pause();
  clock.advance_ms(60'000);
  claims.serve(clock.monotonic_ns());
  settle();
  ASSERT_FALSE(waiting->lines.empty());
  const json::object none = waiting->next().at("result").as_object();
  EXPECT_TRUE(none.at("claim").is_null());
  EXPECT_EQ(none.at("paused").at("reason"), "an upgrade");
}

// What is under way ends, and its worker isn't given more.
TEST_F(RpcServicePause, AnAttemptFinishesAndNothingIsInFlight) {  // O2
  const std::string run = start_run(two_worker_stations);
  const json::object claimed = claim().at("claim").as_object();
  pause();
  const json::object waited_for = in_flight();
  EXPECT_EQ(waited_for.at("total"), 1);
  const json::object attempt = waited_for.at("attempts").at(0).as_object();
  EXPECT_EQ(attempt.at("run_id"), json::value(run));
  EXPECT_EQ(attempt.at("goal"), "a parser");
  EXPECT_EQ(attempt.at("station"), "build");
  EXPECT_EQ(attempt.at("worker"), "ann");
  EXPECT_TRUE(attempt.at("waiting").is_null());
  const auto done = ask("station.complete",
                        R"({"run_id":")" + run +
                            R"(","station":"build","outcome":"succeeded","claim_next":true,)" +
                            R"("token":)" + json::serialize(claimed.at("token")) + "}");
  EXPECT_EQ(code_of(done), "") << json::serialize(done);
  EXPECT_FALSE(done.at("result").as_object().contains("claim"));
  EXPECT_EQ(in_flight().at("total"), 0);
  EXPECT_TRUE(in_flight().at("attempts").as_array().empty());
}

// Both name the same thing, with the same commands.
TEST_F(RpcServicePause, AnAttemptInFlightSaysWhatItCantEndWithout) {  // O2
  const std::string run = start_run(two_worker_stations);
  const json::object claimed = claim().at("claim").as_object();
  pause();
  const json::object works = in_flight().at("attempts").at(0).as_object();
  EXPECT_EQ(works.at("unblocked_by"), "station.complete by its worker, or its lease's end");
  EXPECT_FALSE(works.contains("text"));
  const auto asked =
      ask("station.request_approval", R"({"run_id":")" + run +
                                          R"(","station":"build","question":"may I?","token":)" +
                                          json::serialize(claimed.at("token")) + "}");
  ASSERT_EQ(code_of(asked), "") << json::serialize(asked);
  const json::object attempt = in_flight().at("attempts").at(0).as_object();
  EXPECT_EQ(attempt.at("waiting"), "approval");
  EXPECT_EQ(attempt.at("unblocked_by"), "run.resume with a decision, by an operator");
  const auto why_run = ask("run.why", R"({"run_id":")" + run + "\"}").at("result").as_object();
  const json::object reason = why_run.at("reasons").at(0).as_object();
  EXPECT_EQ(reason.at("reason"), "approval");
  EXPECT_EQ(attempt.at("next_commands"), reason.at("next_commands"));
  EXPECT_EQ(attempt.at("unblocked_by"), reason.at("unblocked_by"));
}

TEST_F(RpcServicePause, ARunSaysThatItWaitsForTheEndOfThePause) {  // O2
  const std::string run = start_run(two_worker_stations);
  const json::object paused = pause();
  const auto why_run = ask("run.why", R"({"run_id":")" + run + "\"}").at("result").as_object();
  EXPECT_EQ(why_run.at("moving"), false);
  const json::object reason = why_run.at("reasons").at(0).as_object();
  EXPECT_EQ(reason.at("reason"), "service_paused");
  EXPECT_EQ(reason.at("text"), "uid:1 paused the service: an upgrade");
  EXPECT_EQ(reason.at("cause_event"), "ServicePaused");
  EXPECT_EQ(reason.at("cause_position"), paused.at("paused").at("position"));
  EXPECT_EQ(reason.at("next_commands").at(0), "signalbox resume --all");
}

TEST_F(RpcServicePause, ACardSaysThatItWaitsForTheEndOfThePause) {  // O2
  put("web");
  const std::string waiting = submit("Fix it");
  pause();
  EXPECT_EQ(card(waiting).at("waiting").at("reason"), "service_paused");
  const json::object reason = why(waiting).at("reasons").at(0).as_object();
  EXPECT_EQ(reason.at("reason"), "service_paused");
  EXPECT_EQ(reason.at("cause_event"), "ServicePaused");
  EXPECT_EQ(next_to_start(engine.world()), nullptr);
}

TEST_F(RpcServicePause, APausedServiceWaitsForAPerson) {  // O2
  pause();
  const auto listed = ask("attention.list").at("result").as_object();
  ASSERT_EQ(listed.at("items").as_array().size(), 1U) << json::serialize(listed);
  const json::object item = listed.at("items").at(0).as_object();
  EXPECT_EQ(item.at("id"), "service/paused");
  EXPECT_EQ(item.at("kind"), "service");
  EXPECT_EQ(item.at("text"), "uid:1 paused the service: an upgrade; nothing new begins");
  EXPECT_EQ(item.at("next_commands").at(0), "signalbox resume --all");
  EXPECT_EQ(listed.at("counts").at("service"), 1);
  resume();
  EXPECT_EQ(ask("attention.list").at("result").at("total"), 0);
}

}  // namespace
}  // namespace signalbox
