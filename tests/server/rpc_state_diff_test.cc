// Tests `state.diff`: what differs in the state of a stream between two moments of the log.
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <boost/json/serialize.hpp>

#include "domain/limits.h"
#include "server/limits.h"
#include "server/replay/past_worlds.h"
#include "tests/fixtures/temporary_directory.h"
#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

namespace json = boost::json;

class RpcStateDiff : public ::testing::Test, protected RpcSite {
 protected:
  RpcStateDiff() {
    api.facts.data_directory = scratch.path().string();
    api.compare_past = [this](PastComparison question, const Responder& responder) {
      worlds.compare(std::move(question), responder);
    };
  }
  [[nodiscard]] static std::string params(const std::string& stream, const std::string& from,
                                          const std::string& to = "") {
    return R"({"stream":")" + stream + R"(","from":)" + from +
           (to.empty() ? "" : R"(,"to":)" + to) + "}";
  }
  json::object difference(const std::string& asked) {
    const json::object answer = ask("state.diff", asked);
    EXPECT_TRUE(answer.contains("result")) << asked << " " << json::serialize(answer);
    return answer.contains("result") ? answer.at("result").as_object() : json::object();
  }
  // Returns the difference of a field; an empty object if it is the same.
  static json::object field(const json::object& shown, const std::string& name) {
    for (const json::value& each : shown.at("fields").as_array()) {
      if (each.at("field") == json::value(name)) return each.as_object();
    }
    return {};
  }
  [[nodiscard]] std::string here() const { return std::to_string(engine.world().position); }

  TemporaryDirectory scratch;
  PastWorlds worlds{{log, clock, scratch.path(), BlockingPool(at_once, at_once)}};
};

TEST_F(RpcStateDiff, SaysWhatBecameOfARunBetweenTwoPositions) {  // O5
  ask("server.pause");
  const std::string before = here();
  const std::string run = start_run(R"({"goal":"mend it"})");
  const std::string started = here();
  ask("run.pause", R"({"run_id":")" + run + R"(","reason":"lunch"})");
  const std::string paused = here();
  ask("run.cancel", R"({"run_id":")" + run + R"(","reason":"enough"})");
  const std::string stream = "run/" + run;

  const json::object appeared = difference(params(stream, before, started));
  EXPECT_EQ(appeared.at("change"), "appears");
  EXPECT_EQ(field(appeared, "goal"), (json::object{{"field", "goal"}, {"to", "mend it"}}));

  const json::object changed = difference(params(stream, started, paused));
  EXPECT_EQ(changed.at("stream"), json::value(stream));
  EXPECT_EQ(changed.at("change"), "changes");
  EXPECT_EQ(field(changed, "status"),
            (json::object{{"field", "status"}, {"from", "queued"}, {"to", "paused"}}));
  EXPECT_TRUE(field(changed, "goal").empty());
  EXPECT_EQ(json::serialize(changed.at("from")), started);
  EXPECT_EQ(json::serialize(changed.at("to")), paused);
  EXPECT_EQ(json::serialize(changed.at("position")), paused) << "what it shows the state of";

  // Why it ended isn't in its state, but in the event.
  const json::object ended = difference(params(stream, paused));
  EXPECT_EQ(json::serialize(ended.at("to")), here()) << "now";
  EXPECT_EQ(field(ended, "reason").at("to"), "enough") << json::serialize(ended);
  ask("server.resume");
  const json::object later = difference(params(stream, std::to_string(log.tail() - 1)));
  EXPECT_TRUE(later.at("change").is_null()) << json::serialize(later);
  EXPECT_TRUE(later.at("fields").as_array().empty());
}

TEST_F(RpcStateDiff, AMomentIsATimeOrAnAgeToo) {  // O5
  ask("lock.acquire", R"({"key":"deploy","owner":"ann","lease_ms":60000})");
  const std::string taken = here();
  clock.advance_ms(10'000);
  const std::string token =
      json::serialize(ask("lock.get", R"({"key":"deploy"})").at("result").at("lock").at("token"));
  ask("lock.release", R"({"key":"deploy","token":)" + token + "}");
  EXPECT_EQ(difference(params("lock/deploy", R"("5s")")),
            difference(params("lock/deploy", taken, "\"" + here() + "\"")));
}

TEST_F(RpcStateDiff, WhatIsNoSpanOfTheLogIsRefused) {  // P7
  for (const char* goal : {"mend it", "test it"}) {
    start_run(R"({"goal":")" + std::string(goal) + R"("})");
  }
  const std::string last = here();
  ASSERT_GT(engine.world().position, 1U);
  EXPECT_EQ(code_of(ask("state.diff", params("server", last, "1"))), "INVALID_PARAMS");
  EXPECT_EQ(code_of(ask("state.diff", params("server", R"("yesterday")"))), "INVALID_PARAMS");
  EXPECT_EQ(code_of(ask("state.diff", params("server", "1", "1000000"))), "POSITION_NOT_FOUND");
  EXPECT_EQ(code_of(ask("state.diff", params("plan/a", "1"))), "INVALID_PARAMS");
  EXPECT_EQ(code_of(ask("state.diff", R"({"stream":"server"})")), "INVALID_PARAMS");
  const json::object past = ask("state.diff", R"({"stream":"server","from":1,"at":1})");
  EXPECT_EQ(code_of(past), "NOT_ALLOWED");
  EXPECT_EQ(past.at("error").at("data").at("next_commands").at(0),
            R"(signalbox rpc state.diff '{"stream":"server","from":1}')");
}

TEST_F(RpcStateDiff, ANameHasItsBytes) {  // P8
  start_run(R"({"goal":"mend it"})");
  const auto asked = [this](std::size_t bytes) {
    return ask("state.diff", params("project/" + std::string(bytes, 'n'), "1"));
  };
  EXPECT_EQ(code_of(asked(limits::name_bytes_max)), "");
  EXPECT_EQ(code_of(asked(limits::name_bytes_max + 1)), "LIMIT_EXCEEDED");
}

TEST_F(RpcStateDiff, AViewerSeesNoTokenAndNoDigestOfASecret) {  // G8
  ask("server.pause");
  const std::string before = here();
  const std::string token =
      json::serialize(ask("lock.acquire", R"({"key":"deploy","owner":"ann","lease_ms":60000})")
                          .at("result")
                          .at("token"));
  ask("access.issue", R"({"name":"ci","role":"worker"})");
  const auto seen_by = [&](Role role, const std::string& stream) {
    auto client = std::make_shared<ListeningPeer>();
    dispatcher.handle(request("state.diff", params(stream, before)), {"token:eve", role}, client);
    settle();
    return client->next().at("result").as_object();
  };
  EXPECT_EQ(field(seen_by(Role::worker, "lock/deploy"), "token").at("to"), json::value(token));
  const json::object hidden = seen_by(Role::viewer, "lock/deploy");
  EXPECT_EQ(field(hidden, "owner").at("to"), "ann");
  for (const char* name : {"token", "renewed_at"}) EXPECT_TRUE(field(hidden, name).empty()) << name;
  EXPECT_FALSE(field(seen_by(Role::worker, "access"), "tokens[0].secret_sha256").empty());
  EXPECT_TRUE(field(seen_by(Role::viewer, "access"), "tokens[0].secret_sha256").empty());
}

// Its two moments are one question, in the lane of the connection that asks.
TEST_F(RpcStateDiff, ItTakesThePlaceOfOneQuestion) {  // O4
  start_run(R"({"goal":"mend it"})");
  std::deque<std::function<void()>> held;
  const BlockingPool pool(
      Post([&held](std::function<void()> work) { held.push_back(std::move(work)); }), at_once);
  PastWorlds bounded({log, clock, scratch.path(), pool});
  api.compare_past = [&bounded](PastComparison question, const Responder& responder) {
    bounded.compare(std::move(question), responder);
  };
  for (std::size_t each = 0; each < limits::past_questions_max; ++each) {
    send(request("state.diff", params("server", "1")));
  }
  EXPECT_TRUE(peer->lines.empty());
  EXPECT_EQ(code_of(ask("state.diff", params("server", "1"))), "OVERLOADED");
  while (!held.empty()) {
    held.front()();
    held.pop_front();
  }
  EXPECT_EQ(peer->lines.size(), limits::past_questions_max);
}

}  // namespace
}  // namespace signalbox
