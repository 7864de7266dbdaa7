// What an outside worker has used up counts once, though its completion comes too late and is
// refused.
#include <algorithm>
#include <string>

#include <boost/json/serialize.hpp>

#include "domain/feature_level.h"
#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

namespace json = boost::json;

class RpcLateCompletion : public RpcSite, public ::testing::Test {
 protected:
  struct Held {
    std::string run_id;
    Token token = 0;
  };

  // Sends a request of `who` over a new connection.
  std::shared_ptr<ListeningPeer> begin(const std::string& method, const json::object& params,
                                       const Principal& who) {
    auto client = std::make_shared<ListeningPeer>();
    dispatcher.handle(request(method, json::serialize(params)), who, client);
    return client;
  }
  json::object call(const std::string& method, const json::object& params, const Principal& who) {
    const auto client = begin(method, params, who);
    settle();
    return client->next();
  }
  // Starts a run of two stations, whose first one Ann claims.
  Held claim(const json::object& more = {}) {
    json::object params{
        {"goal", "g"},
        {"pipeline",
         {{"name", "p"},
          {"station",
           {json::object{{"name", "a"}, {"retry", {{"max_retries", 3}, {"backoff", "0s"}}}},
            json::object{{"name", "b"}}}}}}};
    for (const auto& each : more) params[each.key()] = each.value();
    const std::string id = start_run(json::serialize(params));
    return {id, claim_of(id, ann)};
  }
  Token claim_of(const std::string& id, const Principal& who) {
    const auto answer = call("station.claim", {{"worker", "w"}, {"run_id", id}}, who);
    EXPECT_EQ(code_of(answer), "") << json::serialize(answer);
    return answer.at("result").at("claim").at("token").to_number<Token>();
  }
  [[nodiscard]] const signalbox::Run* run(const Held& held) const {
    return engine.world().find_run(*parse_uuid(held.run_id));
  }
  // Ends the attempt's lease as the service does when it is over.
  void expire(const Held& held) {
    take(ExpireLease{*parse_uuid(held.run_id), held.token, run(held)->attempt->lease_renewed_at});
    take(WakeStation{*parse_uuid(held.run_id)});
  }
  [[nodiscard]] static json::object end_of(const Held& held, const Usage& usage) {
    json::object params{
        {"run_id", held.run_id}, {"station", "a"}, {"token", held.token}, {"outcome", "succeeded"}};
    if (usage != Usage{}) params["usage"] = to_json(usage);
    return params;
  }
  json::object complete(const Held& held, const Usage& usage, const Principal& who) {
    return call("station.complete", end_of(held, usage), who);
  }
  // Returns what the refusal of a late completion says of its usage.
  std::string tell(const Held& held, const Usage& usage, const Principal& who,
                   const char* code = "STALE_TOKEN") {
    const json::object answer = complete(held, usage, who);
    EXPECT_EQ(code_of(answer), code) << json::serialize(answer);
    return said(answer);
  }
  static std::string said(const json::object& answer) {
    const json::object details = details_of(answer);
    const json::value* const usage = details.if_contains("usage");
    return usage == nullptr ? "" : std::string(usage->as_string());
  }
  static std::string message_of(const json::object& answer) {
    return std::string(answer.at("error").at("message").as_string());
  }
  json::object shown(const Held& held) {
    return call("run.get", {{"run_id", held.run_id}}, ann).at("result").at("run").as_object();
  }
  [[nodiscard]] std::ptrdiff_t told() const {
    const auto types = event_types();
    return std::count(types.begin(), types.end(), "LateUsageReported");
  }

  const Principal ann{"token:ann", Role::worker};
  const Principal bob{"token:bob", Role::worker};
  const Principal admin{"uid:1", Role::admin};
  const Usage used{5, 6, 7};
};

TEST_F(RpcLateCompletion, IsRefusedAndItsUsageCountsOnce) {  // A5, P4
  const Held held = claim();
  expire(held);
  const json::object first = complete(held, used, ann);
  EXPECT_EQ(code_of(first), "STALE_TOKEN");
  EXPECT_EQ(said(first), "recorded");
  EXPECT_NE(message_of(first).find("was counted, and nothing else was taken"), std::string::npos)
      << message_of(first);
  EXPECT_EQ(tell(held, used, ann), "known");
  EXPECT_EQ(tell(held, {50, 60, 70}, ann), "known") << "the first word stands";
  EXPECT_EQ(told(), 1);
  const json::object seen = shown(held);
  EXPECT_EQ(seen.at("used"), to_json(used));
  EXPECT_EQ(seen.at("station"), "a") << "nothing of its result is taken";
  const json::object attempt = seen.at("stations").at(0).at("attempts").at(0).as_object();
  EXPECT_EQ(attempt.at("usage"), to_json(used));
  EXPECT_EQ(attempt.at("outcome"), "failed");
  EXPECT_EQ(run(held)->used, used);
}

TEST_F(RpcLateCompletion, IsRecordedAsOfWhoToldIt) {  // A5
  const Held held = claim();
  expire(held);
  EXPECT_EQ(tell(held, used, ann), "recorded");
  bool is_found = false;
  EXPECT_TRUE(log.scan(1, log.tail(), [&](Record&& record) {
    if (event_as<LateUsageReported>(record.event) == nullptr) return true;
    is_found = true;
    EXPECT_EQ(record.actor, "token:ann");
    EXPECT_EQ(record.cause, held.token);
    EXPECT_EQ(record.command_id, "") << "the command itself was refused";
    return true;
  }));
  EXPECT_TRUE(is_found);
}

TEST_F(RpcLateCompletion, OfACommandIdCountsOnceHoweverOftenItIsSent) {  // A5, P3
  const Held held = claim();
  expire(held);
  json::object params = end_of(held, used);
  params["command_id"] = "end-1";
  EXPECT_EQ(said(call("station.complete", params, ann)), "recorded");
  const json::object again = call("station.complete", params, ann);
  EXPECT_EQ(code_of(again), "STALE_TOKEN");
  EXPECT_EQ(said(again), "known");
  EXPECT_EQ(told(), 1);
}

TEST_F(RpcLateCompletion, OfTwoAtTheSameMomentOneCounts) {  // A5
  const Held held = claim();
  expire(held);
  const auto first = begin("station.complete", end_of(held, used), ann);
  const auto second = begin("station.complete", end_of(held, used), ann);
  settle();
  settle();
  EXPECT_EQ(said(first->next()), "recorded");
  EXPECT_EQ(said(second->next()), "known");
  EXPECT_EQ(told(), 1);
}

TEST_F(RpcLateCompletion, CountsWhileAnotherHoldsTheStation) {  // A5, P4
  const Held held = claim();
  expire(held);
  const Held second{held.run_id, claim_of(held.run_id, bob)};
  EXPECT_EQ(tell(held, used, ann), "recorded");
  EXPECT_EQ(run(held)->attempt->token, second.token) << "its attempt goes on";
  EXPECT_EQ(code_of(complete(second, {1, 1, 1}, bob)), "");
  EXPECT_EQ(shown(held).at("used"), to_json(Usage{6, 7, 8}));
}

TEST_F(RpcLateCompletion, CountsOnceItsStationHasSucceeded) {  // A5
  const Held held = claim();
  expire(held);
  const Held second{held.run_id, claim_of(held.run_id, bob)};
  EXPECT_EQ(code_of(complete(second, {}, bob)), "");
  EXPECT_EQ(tell(held, used, ann, "STATION_ALREADY_SUCCEEDED"), "recorded");
  EXPECT_EQ(shown(held).at("used"), to_json(used));
}

TEST_F(RpcLateCompletion, CountsOfARunThatWasCanceledMeanwhile) {  // A5, S11
  const Held held = claim();
  expire(held);
  EXPECT_EQ(code_of(call("run.cancel", {{"run_id", held.run_id}}, admin)), "");
  EXPECT_EQ(tell(held, used, ann, "RUN_TERMINAL"), "recorded");
  EXPECT_EQ(tell(held, used, ann, "RUN_TERMINAL"), "known");
  EXPECT_EQ(shown(held).at("used"), to_json(used));
  EXPECT_EQ(shown(held).at("status"), "canceled");
}

TEST_F(RpcLateCompletion, CountsOfAnAttemptThatWasGivenBack) {  // A5
  const Held held = claim();
  EXPECT_EQ(
      code_of(call(
          "station.defer",
          {{"run_id", held.run_id}, {"station", "a"}, {"token", held.token}, {"delay_ms", 1000}},
          ann)),
      "");
  EXPECT_EQ(tell(held, used, ann), "recorded");
}

TEST_F(RpcLateCompletion, OfAnAttemptWhoseEndToldItIsKnown) {  // A5
  const Held held = claim();
  EXPECT_EQ(code_of(complete(held, {1, 2, 3}, ann)), "");
  EXPECT_EQ(tell(held, used, ann, "STATION_ALREADY_SUCCEEDED"), "known");
  EXPECT_EQ(shown(held).at("used"), to_json(Usage{1, 2, 3}));
}

TEST_F(RpcLateCompletion, WithoutUsageIsRefusedAsBefore) {
  const Held held = claim();
  expire(held);
  const json::object answer = complete(held, {}, ann);
  EXPECT_EQ(code_of(answer), "STALE_TOKEN");
  EXPECT_EQ(said(answer), "");
  EXPECT_EQ(message_of(answer).find("counted"), std::string::npos) << message_of(answer);
  EXPECT_EQ(told(), 0);
}

TEST_F(RpcLateCompletion, IsBelievedOfTheOneWhoHadTheClaimAlone) {  // G8
  const Held held = claim();
  expire(held);
  EXPECT_EQ(tell(held, used, bob), "unknown");
  EXPECT_EQ(told(), 0);
  EXPECT_EQ(tell(held, used, {"token:ann", Role::worker}), "recorded");
}

TEST_F(RpcLateCompletion, IsBelievedOfAnAdmin) {  // G8
  const Held held = claim();
  expire(held);
  EXPECT_EQ(tell(held, used, admin), "recorded");
}

TEST_F(RpcLateCompletion, OfAnAttemptThatNeverWasIsUnknown) {  // G8
  const Held held = claim();
  const Held other = claim();
  expire(held);
  EXPECT_EQ(tell({held.run_id, 1}, used, ann), "unknown");
  EXPECT_EQ(tell({held.run_id, held.token + 1}, used, ann), "unknown");
  EXPECT_EQ(tell({held.run_id, other.token}, used, ann), "unknown") << "of another run";
  EXPECT_EQ(tell({"00000000-0000-0000-0000-0000000000ff", held.token}, used, ann, "RUN_NOT_FOUND"),
            "unknown");
  json::object wrong = end_of(held, used);
  wrong["station"] = "b";
  EXPECT_EQ(said(call("station.complete", wrong, ann)), "unknown") << "of another station";
  EXPECT_EQ(code_of(complete(held, {-1, 0, 0}, ann)), "INVALID_PARAMS");
  EXPECT_EQ(told(), 0);
}

// Its executor alone knows what a job has used up.
TEST_F(RpcLateCompletion, OfAJobIsUnknown) {  // G8
  Held held{
      start_run(
          R"({"goal":"g","pipeline":{"name":"j","station":[{"name":"a","executor":"process","command":["true"]}]}})"),
      0};
  take(DispatchStation{*parse_uuid(held.run_id), ids.next_span_id(), {}, "here"});
  held.token = run(held)->attempt->token;
  CompleteStation end;
  end.from_executor = true;
  end.run_id = *parse_uuid(held.run_id);
  end.station = "a";
  end.token = held.token;
  take(end);
  EXPECT_EQ(tell(held, used, admin, "RUN_TERMINAL"), "unknown");
  EXPECT_EQ(told(), 0);
}

// The worker learns at once that its token is old, and may tell the usage again.
TEST_F(RpcLateCompletion, IsRefusedThoughItsUsageCannotBeRecordedYet) {  // P4, P7, K9
  const Held held = claim();
  expire(held);
  engine.set_feature_level(2);
  const json::object answer = complete(held, used, ann);
  EXPECT_EQ(code_of(answer), "STALE_TOKEN");
  EXPECT_EQ(said(answer), "not_recorded");
  EXPECT_NE(message_of(answer).find("CELL_UPGRADE_NEEDED"), std::string::npos)
      << message_of(answer);
  engine.set_feature_level(feature_level_newest);
  EXPECT_EQ(tell(held, used, ann), "recorded");
}

// No answer says that usage was counted before that is durable.
TEST_F(RpcLateCompletion, WhoseUsageWasNotWrittenIsSentAgain) {  // A5, P1
  const Held held = claim();
  expire(held);
  const auto first = begin("station.complete", end_of(held, used), ann);
  EXPECT_TRUE(projector.catch_up().has_value());
  engine.flush();
  EXPECT_TRUE(first->lines.empty());
  finish(AppendStatus::full);
  EXPECT_EQ(code_of(first->next()), "STORAGE_FULL");
  engine.leave_storage_full();
  EXPECT_EQ(told(), 0);
  EXPECT_EQ(tell(held, used, ann), "recorded");
  EXPECT_EQ(told(), 1);
}

// The lease wasn't over after all: its end was rolled back, and the attempt may still complete.
TEST_F(RpcLateCompletion, OfAnAttemptWhoseEndWasRolledBackIsToBeSentAgain) {  // P4
  const Held held = claim();
  ASSERT_TRUE(engine.begin(by_the_service)
                  .apply(ExpireLease{*parse_uuid(held.run_id), held.token,
                                     run(held)->attempt->lease_renewed_at}));
  const auto late = begin("station.complete", end_of(held, used), ann);
  engine.flush();
  finish(AppendStatus::full);
  engine.leave_storage_full();
  projector.roll_back(log.tail());
  settle();
  EXPECT_EQ(code_of(late->next()), "STORAGE_FULL");
  EXPECT_EQ(told(), 0);
  EXPECT_EQ(code_of(complete(held, used, ann)), "");
  EXPECT_EQ(shown(held).at("used"), to_json(used));
}

TEST_F(RpcLateCompletion, OfARunWhoseRecordsWereDroppedIsUnknown) {  // G17
  const Held held = claim();
  expire(held);
  api.is_dropped = [](const RunId&) { return true; };
  EXPECT_EQ(tell(held, used, ann), "unknown");
  EXPECT_EQ(told(), 0);
}

TEST_F(RpcLateCompletion, CountsAgainstTheBudget) {  // A5, S7
  const Held held =
      claim({{"budget", {{"cost_microusd", 0}, {"tokens", 0}, {"turns", used.turns}}}});
  expire(held);
  EXPECT_EQ(tell(held, used, ann), "recorded");
  EXPECT_EQ(run(held)->station().waiting, WaitReason::budget);
}

}  // namespace
}  // namespace signalbox
