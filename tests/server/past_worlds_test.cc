// Tests queries about moments of the past that a running service answers.
#include <gtest/gtest.h>

#include <deque>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/serialize.hpp>

#include "server/limits.h"
#include "server/platform/artifact_store.h"
#include "server/platform/call_bounds.h"
#include "server/replay/past_worlds.h"
#include "store/sha256.h"
#include "tests/fixtures/temporary_directory.h"
#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

namespace json = boost::json;

class PastWorldsTest : public ::testing::Test, protected RpcSite {
 protected:
  PastWorldsTest() {
    api.facts.data_directory = scratch.path().string();  // answers name it
    serve({log, clock, scratch.path(), BlockingPool(at_once, at_once)});
  }

  void serve(const PastWorlds::Parts& parts) {
    worlds = std::make_unique<PastWorlds>(parts);
    api.ask_past = [this](PastQuestion question, const Responder& responder) {
      worlds->ask(std::move(question), responder);
    };
  }
  json::value result_of(const std::string& method, const std::string& params) {
    json::object answer = ask(method, params);
    EXPECT_TRUE(answer.contains("result")) << method << " " << json::serialize(answer);
    return answer["result"];
  }
  // Returns the params with the moment.
  static std::string at(const std::string& params, const std::string& moment) {
    json::object asked = json::parse(params).as_object();
    asked["at"] = json::parse(moment);
    return json::serialize(asked);
  }
  // Makes a history, and keeps the answers that were given at each of its moments.
  void live() {
    run = start_run(R"({"goal":"first"})");
    look();
    ask("lock.acquire", R"({"key":"deploy","owner":"ops","lease_ms":60000})");
    look();
    clock.advance_ms(10'000);
    start_run(R"({"goal":"second"})");
    look();
    ask("run.cancel", R"({"run_id":")" + run + R"(","reason":"enough"})");
    look();
  }
  void look() {
    Moment moment{std::to_string(engine.world().position), {}};
    for (const auto& [method, params] : queries()) {
      moment.answers.push_back(result_of(method, params));
    }
    moments.push_back(std::move(moment));
  }
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> queries() const {
    return {{"run.list", "{}"},
            {"run.get", R"({"run_id":")" + run + "\"}"},
            {"lock.get", R"({"key":"deploy"})"},
            {"events.read", R"({"limit":1000})"}};
  }
  void expect_the_same() {
    for (const Moment& moment : moments) {
      for (std::size_t each = 0; each < queries().size(); ++each) {
        const auto [method, params] = queries()[each];
        EXPECT_EQ(result_of(method, at(params, moment.position)), moment.answers[each])
            << method << " at " << moment.position;
      }
    }
  }

  struct Moment {
    std::string position;
    std::vector<json::value> answers;
  };
  TemporaryDirectory scratch;
  std::unique_ptr<PastWorlds> worlds;
  std::string run;
  std::vector<Moment> moments;
};

TEST_F(PastWorldsTest, AMomentGivesTheAnswersThatWereGivenThen) {  // O4
  live();
  expect_the_same();
  std::reverse(moments.begin(), moments.end());
  expect_the_same();
}

// The intervals are so short that worlds are kept, thinned out, and begin in the midst of commits.
TEST_F(PastWorldsTest, AHistoryOnTheDiskIsWhereMomentsBeginUntilItIsForgotten) {  // O4
  serve({log, clock, scratch.path(), BlockingPool(at_once, at_once), {.rows = 1, .worlds = 1}});
  live();
  while (log.tail() < 3 * limits::past_kept_worlds_max) start_run(R"({"goal":"a moment"})");
  look();
  expect_the_same();
  std::reverse(moments.begin(), moments.end());
  expect_the_same();
  const std::filesystem::path directory = scratch.path() / "projections" / "past";
  EXPECT_TRUE(std::filesystem::exists(directory));
  EXPECT_FALSE(worlds->remembered().empty());
  worlds->forget();
  EXPECT_TRUE(worlds->remembered().empty());
  EXPECT_FALSE(std::filesystem::exists(directory));
  expect_the_same();
}

// A store of artifacts that never answers, and how long the calling thread would wait for it.
class SilentArtifacts final : public ArtifactStore {
 public:
  mutable std::vector<std::int64_t> waits_ms;

  Stored<void> put_content(const Digest&, std::string_view) override { return unanswered(); }
  Stored<bool> confirm(const Digest&, std::uint64_t) override { return unanswered(); }
  [[nodiscard]] Stored<std::string> get(const Digest&) const override { return unanswered(); }
  [[nodiscard]] Stored<OpenedBlob> open(const Digest&, std::uint64_t) const override {
    return unanswered();
  }
  [[nodiscard]] Stored<OpenedBlob> open_part(const Digest&, std::uint64_t,
                                             std::uint64_t) const override {
    return unanswered();
  }
  [[nodiscard]] Stored<std::optional<std::uint64_t>> size_of(const Digest&) const override {
    return unanswered();
  }
  [[nodiscard]] std::string location_of(const Digest&) const override { return "s3://b/c"; }
  Stored<void> list(std::uint8_t, const std::function<bool(const KeptBlob&)>&) const override {
    return unanswered();
  }
  Stored<std::uint64_t> remove_older(const Digest&, std::int64_t) override { return unanswered(); }

 private:
  [[nodiscard]] tl::unexpected<StoreError> unanswered() const {
    waits_ms.push_back(CallBounds::deadline_ms() - CallBounds::now_ms());
    return store_failure(StoreError::Kind::away, "it doesn't answer");
  }
};

// All queries about the past have one thread.
TEST_F(PastWorldsTest, AStoreOfArtifactsIsThatOfTheServiceAndWaitedForBriefly) {  // S13, P8
  const auto store = std::make_shared<SilentArtifacts>();
  serve({log, clock, scratch.path(), BlockingPool(at_once, at_once), {}, nullptr, store});
  const std::string run_id = start_run(
      R"({"goal":"g","pipeline":{"name":"p","station":[{"name":"go","executor":"process","command":["true"]}]}})");
  take(DispatchStation{*parse_uuid(run_id), ids.next_span_id(), {}});
  CompleteStation completed;
  completed.run_id = *parse_uuid(run_id);
  completed.station = "go";
  completed.token = engine.world().find_run(completed.run_id)->attempt->token;
  completed.from_executor = true;
  completed.stored_artifacts = {{"a.txt", "text/plain", 5, sha256("hello")}};
  take(completed);
  const auto ended_at = log.tail();
  start_run(R"({"goal":"later"})");
  for (const Position moment : {ended_at, log.tail()}) {
    const json::object refused =
        ask("run.artifact",
            at(R"({"name":"a.txt","run_id":")" + run_id + "\"}", std::to_string(moment)));
    EXPECT_EQ(code_of(refused), "STORAGE_AWAY");
  }
  ASSERT_EQ(store->waits_ms.size(), 2U);
  for (const std::int64_t wait_ms : store->waits_ms) {
    EXPECT_LE(wait_ms, limits::past_artifact_ms_max);
  }
}

TEST_F(PastWorldsTest, AMomentIsAPositionATimeOrAnAge) {  // O4
  live();
  const auto position_at = [this](const std::string& moment) {
    return json::serialize(result_of("run.list", at("{}", moment)).at("position"));
  };
  EXPECT_EQ(position_at("2"), "2");
  EXPECT_EQ(position_at("\"2\""), "2");
  EXPECT_EQ(position_at("\"5s\""), moments[1].position);
  EXPECT_EQ(position_at("\"0s\""), std::to_string(log.tail()));
  // The log is younger than that.
  EXPECT_EQ(position_at("\"1h\""), "1");
  const json::object before = ask("run.list", at("{}", "\"1970-01-01T00:00:00Z\""));
  EXPECT_EQ(code_of(before), "POSITION_NOT_FOUND");
  EXPECT_EQ(before.at("error").at("message"),
            "1970-01-01T00:00:00Z is before the log, which begins with position 1");
  const json::object beyond = ask("run.list", at("{}", std::to_string(log.tail() + 1)));
  EXPECT_EQ(code_of(beyond), "POSITION_NOT_FOUND");
  EXPECT_EQ(beyond.at("error").at("data").at("next_commands").at(0),
            "signalbox events --backwards --limit 1")
      << "which shows the log's end";
  const json::object later = ask("run.list", at("{}", "\"2199-01-01T00:00:00Z\""));
  EXPECT_EQ(code_of(later), "POSITION_NOT_FOUND");
  EXPECT_TRUE(later.at("error").at("message").as_string().starts_with(
      "2199-01-01T00:00:00Z is in the future: it is "));
  EXPECT_EQ(code_of(ask("run.list", at("{}", "\"yesterday\""))), "INVALID_PARAMS");
  EXPECT_EQ(code_of(ask("run.list", at("{}", "{}"))), "INVALID_PARAMS");
}

TEST_F(PastWorldsTest, WhatIsNoQueryOfTheLogTakesNoMoment) {  // O4
  live();
  for (const char* method :
       {"run.cancel", "events.subscribe", "server.metrics", "run.diff", "run.log", "server.whoami",
        "audit.checkpoint", "audit.tile", "audit.records", "state.diff", "what_if.run",
        "project.check", "loop.plan_files", "cell.get"}) {
    EXPECT_EQ(code_of(ask(method, R"({"at":1})")), "NOT_ALLOWED") << method;
  }
}

// A command that is named has what its method needs.
TEST_F(PastWorldsTest, ARefusalNamesTheCommandOfThePresent) {  // O4, P7
  live();
  const auto named = [this](const std::string& method, const std::string& params) {
    const json::object refused = ask(method, params);
    EXPECT_EQ(code_of(refused), "NOT_ALLOWED") << method;
    return std::string(refused.at("error").at("data").at("next_commands").at(0).as_string());
  };
  const std::string id = R"("run_id":")" + run + '"';
  EXPECT_EQ(named("run.log", R"({"at":1,)" + id + "}"), "signalbox run logs " + run);
  EXPECT_EQ(named("run.diff", R"({"at":1,)" + id + "}"), "signalbox run diff " + run);
  EXPECT_EQ(named("run.cancel", R"({"at":1,)" + id + "}"),
            "signalbox rpc run.cancel '{" + id + "}'");
  EXPECT_EQ(named("audit.tile", R"({"at":1,"path":"0/000"})"),
            R"(signalbox rpc audit.tile '{"path":"0/000"}')");
  EXPECT_EQ(named("state.diff", R"({"at":1,"stream":"server"})"),
            R"(signalbox rpc state.diff '{"stream":"server","from":"1"}')");
  EXPECT_EQ(named("what_if.run", R"({"at":"8h"})"),
            R"(signalbox rpc what_if.run '{"policy":"","to":"8h"}')");
  EXPECT_EQ(named("what_if.run", R"({"at":[],"policy":"a"})"),
            R"(signalbox rpc what_if.run '{"policy":"a"}')");
  EXPECT_EQ(named("server.metrics", R"({"at":1})"), "signalbox rpc server.metrics");
  EXPECT_EQ(named("events.subscribe", R"({"at":1})"), "signalbox events --follow");
  for (const char* method : {"run.cancel", "run.diff", "run.log", "audit.tile", "state.diff"}) {
    EXPECT_EQ(named(method, R"({"at":1})"), "signalbox rpc --describe") << method;
  }
  EXPECT_EQ(named("audit.tile", R"({"at":1,"path":")" + std::string(5000, '0') + "\"}"),
            "signalbox rpc --describe");
}

TEST_F(PastWorldsTest, AtMostFourWorldsAreRememberedAndTheyGoForward) {  // O4
  while (log.tail() < 9) start_run(R"({"goal":"a moment"})");
  const auto ask_at = [this](Position position) {
    result_of("run.list", at("{}", std::to_string(position)));
    return worlds->remembered();
  };
  using Positions = std::vector<Position>;
  EXPECT_EQ(ask_at(2), Positions({2}));
  EXPECT_EQ(ask_at(9), Positions({9}));
  EXPECT_EQ(ask_at(9), Positions({9}));
  EXPECT_EQ(ask_at(8), Positions({8, 9}));
  EXPECT_EQ(ask_at(7), Positions({7, 8, 9}));
  EXPECT_EQ(ask_at(6), Positions({6, 7, 8, 9}));
  EXPECT_EQ(worlds->remembered().size(), limits::past_worlds_max);
  EXPECT_EQ(ask_at(5), Positions({5, 6, 7, 8}));
}

TEST_F(PastWorldsTest, ARememberedWorldGoesForwardByABoundedNumberOfEvents) {  // O4, P8
  start_run(R"({"goal":"a moment"})");
  const Position begin = log.tail();
  std::vector<Commit> commits;
  for (Position event = 1; event <= limits::past_forward_events_max + 1; ++event) {
    Record record;
    record.position = begin + event;
    record.event = ServerStarted{};
    commits.push_back({record});
  }
  ASSERT_EQ(log.append(begin, commits).status, AppendStatus::ok);
  const auto ask_at = [this](Position position) {
    EXPECT_EQ(code_of(ask("run.list", at("{}", std::to_string(position)))), "");
    return worlds->remembered();
  };
  using Positions = std::vector<Position>;
  const Position at_limit = begin + limits::past_forward_events_max;
  EXPECT_EQ(ask_at(begin), Positions({begin}));
  EXPECT_EQ(ask_at(at_limit), Positions({at_limit}));
  EXPECT_EQ(ask_at(at_limit + 1), Positions({at_limit, at_limit + 1}));
}

TEST_F(PastWorldsTest, QuestionsBeyondTheBoundAreRefused) {  // O4
  start_run(R"({"goal":"a moment"})");
  std::deque<std::function<void()>> held;
  const BlockingPool pool(
      Post([&held](std::function<void()> work) { held.push_back(std::move(work)); }), at_once);
  serve({log, clock, scratch.path(), pool});
  for (std::size_t each = 0; each < limits::past_questions_max; ++each) {
    send(request("run.list", R"({"at":1})"));
  }
  EXPECT_TRUE(peer->lines.empty());
  const json::object refused = ask("run.list", R"({"at":1})");
  EXPECT_EQ(code_of(refused), "OVERLOADED");
  EXPECT_EQ(details_of(refused).at("past_questions_max"), limits::past_questions_max);
  while (!held.empty()) {
    held.front()();
    held.pop_front();
  }
  for (std::size_t each = 0; each < limits::past_questions_max; ++each) {
    EXPECT_EQ(peer->next().at("result").at("position"), 1);
  }
  send(request("run.list", R"({"at":1})"));
  EXPECT_EQ(held.size(), 1U);
}

TEST_F(PastWorldsTest, CallersTakeTurnsAndEachHasAPlace) {  // O4, G7
  start_run(R"({"goal":"a moment"})");
  std::vector<std::string> lanes;
  std::deque<std::function<void()>> held;
  const BlockingPool::ToLanes hold = [&](const Lane& lane, std::function<void()> work) {
    lanes.push_back(lane.name);
    held.push_back(std::move(work));
  };
  serve({log, clock, scratch.path(), BlockingPool(hold, at_once)});
  const std::string question = request("run.list", R"({"at":1})");
  const auto ask_as = [&](const std::string& caller) {
    dispatcher.handle(question, {caller, Role::viewer}, peer);
    return peer->lines.empty() ? "" : code_of(peer->next());
  };
  for (std::size_t each = 0; each < limits::past_questions_max; ++each) {
    EXPECT_EQ(ask_as("token:greedy"), "");
  }
  EXPECT_EQ(ask_as("token:greedy"), "OVERLOADED");
  EXPECT_EQ(ask_as("tcp:127.0.0.2"), "OVERLOADED") << "one client may come under many addresses";
  EXPECT_EQ(ask_as("token:modest"), "");
  EXPECT_EQ(ask_as("token:modest"), "OVERLOADED");
  EXPECT_EQ(lanes.front(), "the past for token:greedy");
  EXPECT_EQ(lanes.back(), "the past for token:modest");
  while (!held.empty()) {
    held.front()();
    held.pop_front();
  }
  peer->lines.clear();
  EXPECT_EQ(ask_as("token:greedy"), "") << "nothing waits any more";
  ASSERT_EQ(held.size(), 1U);
}

TEST_F(PastWorldsTest, AViewerSeesNoTokensOfThePast) {  // O4
  ask("lock.acquire", R"({"key":"deploy","owner":"ops","lease_ms":60000})");
  const std::string line = request("lock.get", R"({"key":"deploy","at":1})");
  dispatcher.handle(line, {"uid:1", Role::admin}, peer);
  dispatcher.handle(line, {"uid:2", Role::viewer}, peer);
  EXPECT_FALSE(peer->next().at("result").at("lock").at("token").is_null());
  EXPECT_TRUE(peer->next().at("result").at("lock").at("token").is_null());
}

TEST_F(PastWorldsTest, WhatIsNotInTheLogIsThatOfThePresent) {  // O9
  PresentFacts facts;
  facts.server = api.facts;
  facts.server.connections_max = 77;
  facts.server.loops = {"heartbeat"};
  facts.roles_without_token.emplace();
  serve({log, clock, scratch.path(), BlockingPool(at_once, at_once), {}, [&] { return facts; }});
  start_run(R"({"goal":"first"})");
  const json::value listed = result_of("loop.list", R"({"at":1})");
  ASSERT_EQ(listed.at("loops").as_array().size(), 1U);
  EXPECT_EQ(listed.at("loops").at(0).at("loop"), "heartbeat");
  EXPECT_TRUE(listed.at("loops").at(0).at("last_due_at").is_null());
  EXPECT_EQ(result_of("access.list", R"({"at":1})").at("without_token").at("unix_owner"), "admin");
  EXPECT_EQ(result_of("server.limits", R"({"at":1})").at("connections_max"), 77);
  facts.server.connections_max = 78;  // the settings were reloaded
  EXPECT_EQ(result_of("server.limits", R"({"at":1})").at("connections_max"), 78);
}

TEST_F(PastWorldsTest, AnEarlierIncarnationDoesNotShowWhenThisOneStarted) {  // O9
  PresentFacts facts;
  facts.server = api.facts;
  facts.server.started_at_ns = 1'700'000'000'000'000'000;
  serve({log, clock, scratch.path(), BlockingPool(at_once, at_once), {}, [&] { return facts; }});
  start_run(R"({"goal":"first"})");
  EXPECT_TRUE(result_of("server.status", R"({"at":1})").as_object().contains("started_at"));
  facts.incarnation = 1;  // the record is of the one before
  EXPECT_FALSE(result_of("server.status", R"({"at":1})").as_object().contains("started_at"));
}

TEST_F(PastWorldsTest, LoopsShowThePauseOfThatMoment) {  // O9, O2
  PresentFacts facts;
  facts.server = api.facts;
  facts.server.loops = {"heartbeat", "retention"};
  serve({log, clock, scratch.path(), BlockingPool(at_once, at_once), {}, [&] { return facts; }});
  ask("server.pause", R"({"reason":"an upgrade"})");
  ask("server.resume");
  const json::array paused = result_of("loop.list", R"({"at":1})").at("loops").as_array();
  EXPECT_EQ(paused.at(0).at("paused").at("reason"), "an upgrade");
  EXPECT_FALSE(paused.at(1).as_object().contains("paused")) << "it starts no work";
  const json::array resumed = result_of("loop.list", R"({"at":2})").at("loops").as_array();
  EXPECT_FALSE(resumed.at(0).as_object().contains("paused"));
}

}  // namespace
}  // namespace signalbox
