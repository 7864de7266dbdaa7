// Tests a service that renews leases in memory: its log has only those heartbeats that say
// something, and refuses the others as ever.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <boost/json/serialize.hpp>

#include "server/text/time_text.h"
#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

namespace json = boost::json;

class QuietHeartbeats : public ::testing::Test, protected RpcSite {
 protected:
  QuietHeartbeats() {
    api.renew_lease = [this](const signalbox::Run& run) {
      return timers.renew(run, clock.monotonic_ns());
    };
    api.renew_step_lease = [this](const signalbox::Run& run, const StepState& step) {
      return timers.renew_step(run, step, clock.monotonic_ns());
    };
  }
  // Claims a station with a lease of an hour.
  void claim() {
    run_ = start_run(R"({"goal":"g","pipeline":{"name":"p","station":[{"name":"work",)"
                     R"("timeout":"2h","heartbeat_timeout":"1h"}]}})");
    const auto claimed = ask("station.claim", R"({"worker":"w"})");
    token_ = claimed.at("result").at("claim").at("token").to_number<Token>();
  }
  json::object beat(json::object params = {}) {
    params["run_id"] = run_;
    params["station"] = "work";
    if (!params.contains("token")) params["token"] = token_;
    return ask("station.heartbeat", json::serialize(params));
  }

  using Names = std::vector<std::string>;
  std::string run_;
  Token token_ = 0;
};

TEST_F(QuietHeartbeats, AreRecordedOnlyIfTheySaySomething) {  // N6
  claim();
  beat();
  const Position first = log.tail();
  EXPECT_EQ(event_types(first), Names{"StationHeartbeat"}) << "it sends heartbeats";
  for (int each = 0; each < 100; ++each) {
    clock.advance_ms(1000);
    const auto answer = beat();
    ASSERT_EQ(code_of(answer), "");
    const json::object& result = answer.at("result").as_object();
    EXPECT_EQ(result.at("lease_ms"), 3'600'000);
    EXPECT_EQ(result.at("expires_at"),
              json::value(format_time(clock.wall_ns() + 3'600'000 * 1'000'000LL)));
    EXPECT_EQ(result.at("stalled"), false);
  }
  EXPECT_EQ(log.tail(), first);
  beat({{"progress_digest", "10 %"}});
  beat({{"progress_digest", "10 %"}});
  EXPECT_EQ(event_types(first + 1), Names{"StationHeartbeat"});
  beat({{"lease_ms", 60'000}});
  beat({{"command_id", "c-1"}});
  EXPECT_EQ(event_types(first + 2), (Names{"StationHeartbeat", "StationHeartbeat"}));
  EXPECT_EQ(beat({{"command_id", "c-1"}}).at("result").at("replayed"), true);
}

TEST_F(QuietHeartbeats, AreTheLatestThatIsShown) {  // N6
  claim();
  const auto shown = [&] {
    const json::object answer = ask("run.why", json::serialize(json::object{{"run_id", run_}}));
    const json::object& reason = answer.at("result").at("reasons").at(0).as_object();
    const json::value* const time = reason.if_contains("last_heartbeat_at");
    return time == nullptr || time->is_null() ? std::string() : std::string(time->as_string());
  };
  EXPECT_EQ(shown(), "");
  clock.advance_ms(1000);
  beat();
  EXPECT_EQ(shown(), format_time(clock.wall_ns()));
  for (int each = 0; each < 3; ++each) {
    clock.advance_ms(30'000);
    beat();
    EXPECT_EQ(shown(), format_time(clock.wall_ns()));
  }
  clock.advance_ms(30'000);
  EXPECT_NE(shown(), format_time(clock.wall_ns()));
}

TEST_F(QuietHeartbeats, AreRefusedLikeAllOthers) {  // N6
  claim();
  beat();
  EXPECT_EQ(code_of(beat({{"token", 1}})), "STALE_TOKEN");
  EXPECT_EQ(code_of(beat({{"lease_ms", 1}})), "INVALID_PARAMS");
  const std::string another = request(
      "station.heartbeat",
      json::serialize(json::object{{"run_id", run_}, {"station", "work"}, {"token", token_}}));
  dispatcher.handle(another, {"token:other", Role::worker}, peer);
  commit_all();
  EXPECT_EQ(code_of(peer->next()), "FORBIDDEN");
  EXPECT_EQ(event_types(log.tail()), Names{"AccessDenied"});
  ask("run.cancel", R"({"run_id":")" + run_ + "\"}");
  EXPECT_EQ(code_of(beat()), "RUN_TERMINAL");
}

TEST_F(QuietHeartbeats, KeepTheLease) {  // N6
  claim();
  beat({{"lease_ms", 1000}});
  for (int each = 0; each < 10; ++each) {
    clock.advance_ms(900);
    EXPECT_TRUE(timers.take_due(engine.world(), clock.monotonic_ns()).empty()) << each;
    beat();
  }
  clock.advance_ms(1000);
  EXPECT_EQ(timers.take_due(engine.world(), clock.monotonic_ns()).size(), 1U);
}

TEST_F(QuietHeartbeats, OfStepsAreRecordedOnlyIfTheyChangeTheLease) {  // N6
  run_ = start_run(R"({"goal":"g","pipeline":{"name":"p","station":[
      {"name":"deep","executor":"deep_work","heartbeat_timeout":"1h","deep_work":{}}]}})");
  take(DispatchStation{*parse_uuid(run_), ids.next_span_id()});
  token_ = engine.world().find_run(*parse_uuid(run_))->attempt->token;
  const auto told = [this](const std::string& method, json::object params) {
    params["run_id"] = run_;
    const auto answer = ask(method, json::serialize(params));
    EXPECT_EQ(code_of(answer), "") << method;
    return answer;
  };
  told("plan.set_exploration", {{"station", "deep"}, {"token", token_}, {"files", {"a.cc"}}});
  told("plan.set",
       {{"station", "deep"}, {"token", token_}, {"steps", json::array{{{"id", "one"}}}}});
  const auto next = ask("step.next", R"({"worker":"w","lease_ms":1000})");
  const json::object step{{"step", "one"}, {"token", next.at("result").at("step").at("token")}};
  told("step.heartbeat", step);
  const Position first = log.tail();
  EXPECT_EQ(event_types(first), Names{"StepHeartbeat"});
  for (int each = 0; each < 10; ++each) {
    clock.advance_ms(900);
    EXPECT_TRUE(timers.take_due(engine.world(), clock.monotonic_ns()).empty()) << each;
    EXPECT_EQ(told("step.heartbeat", step).at("result").at("lease_ms"), 1000);
  }
  EXPECT_EQ(log.tail(), first);
  json::object longer = step;
  longer["lease_ms"] = 5000;
  EXPECT_EQ(told("step.heartbeat", longer).at("result").at("lease_ms"), 5000);
  EXPECT_EQ(event_types(first + 1), Names{"StepHeartbeat"});
}

}  // namespace
}  // namespace signalbox
