// Answers about the present by an engine whose log another process may take: each rests on a write
// that was acknowledged, and that was sent late enough.
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>

#include "server/text/time_text.h"
#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

namespace json = boost::json;

constexpr std::int64_t holds_ms = 100;

class EngineProof : public testing::Test, protected RpcSite {
 protected:
  EngineProof() {
    clock.advance_ms(10'000);
    prove();
    engine.set_present_proof({[this] { return proved_at_ns_; }, [this] { ++asked_; }, holds_ms});
  }

  // A write that is sent now is acknowledged.
  void prove() { proved_at_ns_ = clock.monotonic_ns(); }
  // Has an event, whoever waits for what.
  void start_run_without_answer() {
    send(request("run.start", R"({"goal":"an event"})"));
    commit_all();
  }
  // Returns whether the connection has its answer.
  static bool has_answer(const ListeningPeer& client) { return !client.lines.empty(); }

  std::int64_t proved_at_ns_ = 0;
  int asked_ = 0;  // proofs
};

TEST_F(EngineProof, OfJustBeforeNeedsNoWait) {  // P10
  clock.advance_ms(holds_ms);
  const auto client = send_from("lock.list", "{}");
  settle();
  ASSERT_TRUE(has_answer(*client));
  EXPECT_FALSE(client->next().at("result").as_object().contains("as_of"));
  EXPECT_EQ(asked_, 0);
}

TEST_F(EngineProof, ThatIsOlderIsAskedForAgain) {  // P10
  clock.advance_ms(holds_ms + 1);
  const auto first = send_from("lock.list", "{}");
  const auto second = send_from("lock.get", R"({"key":"deploy"})");
  settle();
  EXPECT_FALSE(has_answer(*first)) << "another server may have taken the log";
  EXPECT_GT(asked_, 0);
  engine.release_proved();
  EXPECT_FALSE(has_answer(*first)) << "nothing was acknowledged meanwhile";
  prove();
  engine.release_proved();
  ASSERT_TRUE(has_answer(*first));
  ASSERT_TRUE(has_answer(*second));
  EXPECT_FALSE(first->next().at("result").as_object().contains("as_of"));
}

// A subscriber gets its answer first.
TEST_F(EngineProof, IsWaitedForByWhatFollowsAnAnswer) {  // P10
  clock.advance_ms(holds_ms + 1);
  const auto client = send_from("events.subscribe", R"({"from":1})");
  settle();
  start_run_without_answer();
  EXPECT_FALSE(has_answer(*client));
  EXPECT_TRUE(client->delivered.empty());
  prove();
  engine.release_proved();
  settle();
  ASSERT_TRUE(has_answer(*client));
  EXPECT_TRUE(client->next().contains("result"));
  EXPECT_FALSE(client->delivered.empty());
}

// It may have been sent long before the request came.
TEST_F(EngineProof, ThatWasSentBeforeTheAnswerDoesntHoldForLonger) {  // P10
  clock.advance_ms(holds_ms + 50);
  const auto client = send_from("lock.list", "{}");
  settle();
  proved_at_ns_ = clock.monotonic_ns() - (holds_ms + 1) * 1'000'000;
  engine.release_proved();
  EXPECT_FALSE(has_answer(*client));
  proved_at_ns_ += 1'000'000;
  engine.release_proved();
  EXPECT_TRUE(has_answer(*client));
}

// A process that was stopped and goes on knows nothing of what happened meanwhile.
TEST_F(EngineProof, IsWaitedForAfterAPause) {  // P10
  clock.advance_ms(60'000);
  const auto client = send_from("run.list", "{}");
  settle();
  EXPECT_FALSE(has_answer(*client));
  const auto refused = send_from("lock.release", R"({"key":"deploy","token":7})");
  settle();
  EXPECT_FALSE(has_answer(*refused)) << "a refusal says what is so at present, too";
}

TEST_F(EngineProof, OfACommandIsItsOwnCommit) {  // P10
  clock.advance_ms(holds_ms + 1);
  const auto client = send_from("lock.acquire", R"({"key":"deploy","owner":"o","lease_ms":1000})");
  EXPECT_FALSE(has_answer(*client));
  prove();
  commit_all();
  EXPECT_TRUE(has_answer(*client));
  EXPECT_EQ(asked_, 0);
}

// The server steps down, or the log is away: what it has may be old by now, and its answers say so.
TEST_F(EngineProof, ThatDoesntComeMakesAnAnswerOneOfThePast) {  // P10, K6
  clock.advance_ms(holds_ms + 1);
  const auto query = send_from("lock.list", "{}");
  const auto command = send_from("lock.release", R"({"key":"deploy","token":7})");
  settle();
  engine.close({ErrorCode::NOT_ACTIVE, "another server takes commands", {}, {}});
  engine.show_as_of(clock.wall_ns());
  engine.release_proved();
  ASSERT_TRUE(has_answer(*query));
  const auto shown = query->next();
  ASSERT_TRUE(shown.contains("result")) << boost::json::serialize(shown);
  const auto& result = shown.at("result").as_object();
  ASSERT_TRUE(result.contains("as_of")) << boost::json::serialize(shown);
  EXPECT_EQ(result.at("as_of").as_string(), format_time(clock.wall_ns()));
  ASSERT_TRUE(has_answer(*command));
  const auto released = command->next();  // nothing, and it says as of when
  const bool is_of_then =
      released.contains("error") || released.at("result").as_object().contains("as_of");
  EXPECT_TRUE(is_of_then) << boost::json::serialize(released);
}

// What was applied may never be in the log: nobody who only asks waits for that. How the service is
// is told at once, without what may not be so.
TEST_F(EngineProof, IsNotWaitedForWhileACommandWaitsForALogThatIsAway) {  // K3, K6
  const Rejection away{ErrorCode::STORAGE_AWAY, "the log is away", {}, {}};
  api.refuses_commands = [&]() -> std::optional<Rejection> {
    return engine.is_held() ? std::optional(away) : std::nullopt;
  };
  const auto command = send_from("run.start", R"({"goal":"may never be"})");
  engine.flush();
  const auto list = send_from("lock.list", "{}");
  const auto runs = send_from("run.list", "{}");
  const auto events = send_from("events.read", "{}");
  const auto status = send_from("server.status", "{}");
  const Position acknowledged = engine.durable_position();
  EXPECT_FALSE(has_answer(*list));
  EXPECT_FALSE(has_answer(*status));
  engine.hold(away);
  engine.show_as_of(clock.wall_ns());
  engine.release_queries();
  projector.roll_back(acknowledged);
  EXPECT_TRUE(projector.catch_up().has_value());
  for (const auto& query : {list, runs, events}) {
    ASSERT_TRUE(has_answer(*query));
    const auto refused = query->next();
    EXPECT_TRUE(refused.contains("error")) << boost::json::serialize(refused);
    EXPECT_EQ(query->unanswered, 0U);
  }
  for (const auto& shown : {status, send_from("server.status", "{}")}) {
    ASSERT_TRUE(has_answer(*shown));
    const auto result = shown->next().at("result").as_object();
    EXPECT_EQ(result.at("position").to_number<Position>(), acknowledged);
    EXPECT_EQ(result.at("as_of").as_string(), format_time(clock.wall_ns()));
    EXPECT_FALSE(result.contains("open_runs")) << "it isn't known";
  }
  const auto unknown = send_from("server.nothing", "{}");
  EXPECT_TRUE(has_answer(*unknown));
  EXPECT_FALSE(has_answer(*command));
  engine.go_on();
  engine.show_present();
  prove();
  settle();
  ASSERT_TRUE(has_answer(*command));
  EXPECT_TRUE(command->next().contains("result"));
  const auto known = send_from("server.status", "{}");
  settle();
  EXPECT_EQ(known->next().at("result").at("open_runs").to_number<int>(), 1);
}

// Nor while it isn't away yet, as far as anybody knows, but takes long: then who asks what the log
// may change waits, and who asks how the service is doesn't.
TEST_F(EngineProof, IsNotWaitedForByWhoAsksHowTheServiceIsWhileAnAppendTakesLong) {  // K3
  const auto command = send_from("run.start", R"({"goal":"may be late"})");
  engine.flush();
  const auto status = send_from("server.status", "{}");
  const auto list = send_from("lock.list", "{}");
  EXPECT_FALSE(has_answer(*status)) << "most appends are over soon";
  const Position acknowledged = engine.durable_position();
  const std::int64_t since_ns = clock.wall_ns();
  clock.advance_ms(holds_ms + 1);
  engine.note_overdue(since_ns);
  engine.note_overdue(clock.wall_ns());  // without effect
  for (const auto& shown : {status, send_from("server.status", "{}")}) {
    ASSERT_TRUE(has_answer(*shown));
    EXPECT_EQ(shown->unanswered, 0U);
    const auto result = shown->next().at("result").as_object();
    EXPECT_EQ(result.at("position").to_number<Position>(), acknowledged);
    EXPECT_EQ(result.at("as_of").as_string(), format_time(since_ns));
    EXPECT_FALSE(result.contains("open_runs")) << "it may not be so";
  }
  EXPECT_FALSE(has_answer(*command));
  EXPECT_FALSE(has_answer(*list));
  prove();
  commit_all();
  settle();
  EXPECT_TRUE(has_answer(*command));
  EXPECT_TRUE(has_answer(*list));
  const auto known = send_from("server.status", "{}");
  settle();
  ASSERT_TRUE(has_answer(*known));
  EXPECT_EQ(known->next().at("result").at("open_runs").to_number<int>(), 1);
}

// Between two appends there is none that could take long.
TEST_F(EngineProof, IsOfThePresentAgainOnceTheAppendIsOver) {  // K3
  engine.note_overdue(clock.wall_ns());
  EXPECT_FALSE(engine.is_overdue()) << "none is under way";
  const auto command = send_from("run.start", R"({"goal":"late"})");
  engine.flush();
  engine.note_overdue(clock.wall_ns());
  EXPECT_TRUE(engine.is_overdue());
  commit_all();
  EXPECT_TRUE(has_answer(*command));
  EXPECT_FALSE(engine.is_overdue());
}

}  // namespace
}  // namespace signalbox
