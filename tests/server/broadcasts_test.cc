// Tests the broadcasts to subscribers about the heartbeat and about cards' runs.
#include "server/rpc/broadcasts.h"

#include "server/limits.h"
#include "tests/server/board_site.h"

namespace signalbox {
namespace {

namespace json = boost::json;

using Names = std::vector<std::string>;

class BroadcastsTest : public BoardSite {
 protected:
  BroadcastsTest() { put("web"); }

  Token beat() {
    BeginTick begin;
    begin.loop = "heartbeat";
    begin.reason = "scheduled";
    begin.own_loop = true;
    take(begin);
    return log.tail();
  }
  void end(Token token, const std::string& error = "") {
    EndTick ended;
    ended.loop = "heartbeat";
    ended.token = token;
    ended.outcome = error.empty() ? TickOutcome::succeeded : TickOutcome::failed;
    if (!error.empty()) ended.error = error;
    take(ended);
  }
  // Returns the names of the broadcasts that a subscription from `from` on gets for the current
  // log.
  Names names_since(Position from = 1) {
    Names names;
    params.clear();
    Broadcasts broadcasts(broadcast_sources(api));
    const Position first = Broadcasts::history_from(from, log.horizon());
    EXPECT_TRUE(log.scan(first, log.tail(), [&](Record&& record) {
      if (!Broadcasts::concerns(record)) {
        EXPECT_TRUE(broadcasts.of(record).empty());
        return true;
      }
      for (Broadcast& each : broadcasts.of(record)) {
        if (record.position < from) continue;
        names.emplace_back(each.name);
        EXPECT_EQ(each.params.at("position"), record.position);
        EXPECT_TRUE(each.params.contains("span_id"));
        params.push_back(std::move(each.params));
      }
      return true;
    }));
    for (const std::string& name : names) {
      EXPECT_NE(std::find(broadcast_names().begin(), broadcast_names().end(), name),
                broadcast_names().end());
    }
    return names;
  }
  // Of the latest names_since().
  std::vector<json::object> params;
};

TEST_F(BroadcastsTest, ATickWithoutWorkIsIdle) {  // H10
  const Token token = beat();
  end(token);
  EXPECT_EQ(names_since(), (Names{"heartbeat.tick", "heartbeat.idle"}));
  EXPECT_EQ(params[1].at("token"), token);
  EXPECT_EQ(params[1].at("span_id"), json::value(std::to_string(token)));
  EXPECT_EQ(names_since(token + 1), Names{"heartbeat.idle"}) << "from the middle of the tick";
}

TEST_F(BroadcastsTest, ATickThatSpawnsIsNotIdleAndNamesTheCard) {  // H10
  const std::string id = submit("Fix it");
  const Token token = beat();
  const RunId run = start_next();
  end(token);
  EXPECT_EQ(names_since(), (Names{"heartbeat.tick", "heartbeat.spawned", "agent.spawned"}));
  EXPECT_EQ(params[1].at("card_id"), json::value(id));
  EXPECT_EQ(params[1].at("run_id"), json::value(to_string(run)));
  EXPECT_EQ(params[1].at("title"), "Fix it");
  EXPECT_EQ(params[1].at("project"), "web");
  EXPECT_EQ(params[1].at("token"), token);
  EXPECT_EQ(params[1].at("span_id"), json::value(to_string(run)));
  EXPECT_EQ(params[2].at("span_id"), json::value(to_string(run)));
  EXPECT_EQ(names_since(token + 2), Names{}) << "from after the start: it isn't idle all the same";
}

TEST_F(BroadcastsTest, WhatGoesWrongInATickIsAnError) {  // H10
  end(beat(), "no space");
  take(RefusePolicy{"web", Digest{{2}}, 7, "there is no key maxAgents"});
  EXPECT_EQ(names_since(), (Names{"heartbeat.tick", "heartbeat.error", "heartbeat.error"}));
  EXPECT_EQ(params[1].at("message"), "no space");
  EXPECT_EQ(params[2].at("project"), "web");
  EXPECT_EQ(params[2].at("line"), 7);
  EXPECT_TRUE(params[2].at("span_id").is_null());
}

TEST_F(BroadcastsTest, ARunIsToldFromItsStartToItsVerification) {  // H10
  submit("Fix it");
  const RunId run = start_next();
  const Position before = log.tail();
  work("implement");
  const Position checks = log.tail();
  work("verify");
  EXPECT_EQ(names_since(before),
            (Names{"agent.completed", "verification.started", "verification.finished"}));
  EXPECT_EQ(params[2].at("ok"), true);
  EXPECT_EQ(params[2].at("station"), "verify");
  for (const json::object& each : params) {
    EXPECT_EQ(each.at("span_id"), json::value(to_string(run))) << each;  // A11
  }
  EXPECT_EQ(names_since(checks + 3), Names{"verification.finished"})
      << "a subscription that is younger than the checks looks back";
  // A subscription that starts too late to see the checks' events asks the card index.
  Broadcasts late(broadcast_sources(api));
  const auto last = late.of(log.read(log.tail(), 1).value().front());
  ASSERT_EQ(last.size(), 1U);
  EXPECT_EQ(last[0].name, "verification.finished");
  EXPECT_EQ(last[0].params.at("station"), "verify");
}

TEST_F(BroadcastsTest, ChecksWhoseResultIsHeldFinishWithItsApproval) {  // H10, G10
  const auto put_again =
      ask("project.put", R"({"name":"web","repository":")" + repository +
                             R"(","pipeline":{"name":"p","station":[{"name":"implement"},)" +
                             R"({"name":"verify"},{"name":"announce"}]}})");
  ASSERT_EQ(code_of(put_again), "") << json::serialize(put_again);
  submit("Fix it");
  const RunId run = start_next();
  work("implement");
  const auto claimed = ask("station.claim", R"({"worker":"ann","stations":["verify"]})");
  const std::string attempt = R"("run_id":")" + to_string(run) +
                              R"(","station":"verify","token":)" +
                              json::serialize(claimed.at("result").at("claim").at("token"));
  const Position checks = log.tail();
  ask("station.request_approval", "{" + attempt + R"(,"question":"may I?"})");
  ask("station.complete", "{" + attempt + R"(,"outcome":"succeeded"})");
  const auto finished = Names{"verification.finished"};
  Names held = names_since(checks);
  EXPECT_EQ(std::count(held.begin(), held.end(), finished.front()), 0) << "nobody has decided";
  const auto decided =
      ask("run.resume", R"({"run_id":")" + to_string(run) + R"(","decision":"approve"})");
  ASSERT_EQ(code_of(decided), "") << json::serialize(decided);
  EXPECT_EQ(names_since(log.tail()), finished);
  EXPECT_EQ(params.back().at("ok"), true);
  EXPECT_EQ(params.back().at("station"), "verify");
  work("announce");
  EXPECT_EQ(names_since(log.tail()), Names{}) << "and only once";
}

TEST_F(BroadcastsTest, ARunThatFailsEndsOnce) {  // H10
  const std::string failure =
      R"(,"error_class":"terminal","error_code":"RED","error_message":"no")";
  submit("Fix it");
  start_next();
  work("implement", "failed", failure);
  EXPECT_EQ(names_since(), (Names{"heartbeat.spawned", "agent.spawned", "agent.failed"}));
  EXPECT_EQ(params[2].at("code"), "RED");
  EXPECT_TRUE(params[2].at("retry_at").is_string());
  const Position first = log.tail() + 1;
  clock.advance_ms(31 * 60 * 1000);
  take(RetryBlockedCards{});
  start_next();
  work("implement");
  work("verify", "failed", failure);
  EXPECT_EQ(names_since(first),
            (Names{"heartbeat.retry", "heartbeat.spawned", "agent.spawned", "agent.completed",
                   "verification.started", "verification.finished"}));
  EXPECT_EQ(params[5].at("ok"), false);
  EXPECT_EQ(params[5].at("code"), "RED");
}

TEST_F(BroadcastsTest, ATitleThatWasRedactedIsntSentAgain) {  // G17
  submit("Fix it");
  start_next();
  const Position before = log.tail();
  std::string title = "Fix it";
  BroadcastSources sources = broadcast_sources(api);
  sources.card = [&title](const CardId&) { return std::optional(CardFacts{"web", title}); };
  Broadcasts broadcasts(sources);
  std::vector<std::string> titles;
  const auto broadcast_from = [&](Position from) {
    EXPECT_TRUE(log.scan(from, log.tail(), [&](Record&& record) {
      for (const Broadcast& each : broadcasts.of(record)) {
        titles.emplace_back(each.params.at("title").as_string());
      }
      return true;
    }));
  };
  broadcast_from(1);
  title = "[redacted]";
  broadcasts.renew_facts();
  work("implement");
  work("verify");
  broadcast_from(before + 1);
  ASSERT_FALSE(titles.empty());
  EXPECT_EQ(titles.front(), "Fix it");
  EXPECT_EQ(titles.back(), "[redacted]");
}

TEST_F(BroadcastsTest, TimeoutAndCancelHaveNamesOfTheirOwn) {  // H10
  submit("Slow");
  start_next();
  work("implement", "timeout", R"(,"error_class":"terminal")");
  EXPECT_EQ(names_since().back(), "agent.timeout");
  const std::string second = submit("Stopped");
  const RunId run = start_next();
  ask("run.cancel", R"({"run_id":")" + to_string(run) + "\"}");
  EXPECT_EQ(names_since().back(), "agent.stopped");
  EXPECT_EQ(params.back().at("card_id"), json::value(second));
}

TEST_F(BroadcastsTest, APolicyMaySilenceThoseAboutItsCards) {
  submit("Quiet");
  Policy policy;
  policy.websocket_events = false;
  take(AdoptPolicy{"web", Digest{{1}}, policy});
  const Token token = beat();
  start_next();
  work("implement");
  work("verify");
  end(token);
  EXPECT_EQ(names_since(), Names{"heartbeat.tick"}) << "and the tick isn't idle";
}

TEST(BroadcastHistory, IsReadForABoundedNumberOfEvents) {  // P8
  constexpr Position events_max = limits::broadcast_history_events_max;
  EXPECT_EQ(Broadcasts::history_from(events_max + 1, {}), 1U);
  EXPECT_EQ(Broadcasts::history_from(events_max + 2, {}), 2U);
}

TEST_F(BroadcastsTest, ABlockByHandIsNobodysEnd) {
  const std::string id = submit("Fix it");
  ask("card.block", R"({"card_id":")" + id + R"(","reason":"wait"})");
  ask("card.unblock", R"({"card_id":")" + id + "\"}");
  EXPECT_EQ(names_since(), Names{});
}

TEST_F(BroadcastsTest, OneSpanLeadsFromTheStartOfAnAgentToItsEnd) {  // A11
  submit("Other");
  start_next();
  work("implement");
  work("verify");
  submit("Fix it");
  const Token token = beat();
  const RunId run = start_next();
  end(token);
  const std::string span = R"("span_id":")" + to_string(run) + '"';
  ask("station.claim", R"({"worker":"ann","stations":["implement"]})");
  ask("run.cancel", R"({"run_id":")" + to_string(run) + "\"}");
  const Names story{"CardStarted",     "RunStarted",  "StationClaimed",
                    "StationCanceled", "RunCanceled", "CardBlocked"};
  const json::object read = ask("events.read", "{" + span + "}").at("result").as_object();
  Names names;
  for (const json::value& each : read.at("events").as_array()) {
    names.emplace_back(each.at("type").as_string());
    const bool of_attempt = each.as_object().contains("parent_span_id");
    EXPECT_EQ(each.at(of_attempt ? "parent_span_id" : "span_id"), json::value(to_string(run)))
        << each;
    EXPECT_EQ(of_attempt, names.back().starts_with("Station")) << each;
  }
  EXPECT_EQ(names, story);
  const auto follower = std::make_shared<ListeningPeer>();
  dispatcher.handle(
      R"({"jsonrpc":"2.0","id":1,"method":"events.subscribe","params":{"from":1,)" + span + "}}",
      {"uid:1", Role::admin}, follower);
  commit_all();
  Names notified;
  for (const std::string& line : follower->delivered) {
    const json::object message = json::parse(line).as_object();
    const json::object& about = message.at("params").as_object();
    notified.emplace_back(message.at("method") == "event" ? about.at("type").as_string()
                                                          : message.at("method").as_string());
  }
  EXPECT_EQ(notified, (Names{"CardStarted", "heartbeat.spawned", "agent.spawned", "RunStarted",
                             "StationClaimed", "StationCanceled", "RunCanceled", "CardBlocked",
                             "agent.stopped"}));
}

TEST_F(BroadcastsTest, OneEventMayBeToldSeveralTimesToThoseWhoWant) {
  const auto all = std::make_shared<ListeningPeer>();
  const auto some = std::make_shared<ListeningPeer>();
  const auto subscribe = [this](const std::string& wanted, const auto& who) {
    dispatcher.handle(
        R"({"jsonrpc":"2.0","id":1,"method":"events.subscribe","params":)" + wanted + "}",
        {"uid:1", Role::admin}, who);
    commit_all();
  };
  subscribe("{}", all);
  subscribe(R"({"types":["agent.spawned"]})", some);
  submit("Fix it");
  const Position from = log.tail() + 1;
  start_next();
  feed.publish(std::vector<Commit>{log.read_commit(from - 1).value()});
  feed.publish(std::vector<Commit>{log.read_commit(from).value()});
  Names methods;
  for (const std::string& line : all->delivered) {
    methods.emplace_back(json::parse(line).at("method").as_string());
  }
  EXPECT_EQ(methods, (Names{"event", "event", "heartbeat.spawned", "agent.spawned", "event"}));
  ASSERT_EQ(some->delivered.size(), 1U);
  EXPECT_EQ(json::parse(some->delivered[0]).at("method"), "agent.spawned");
}

}  // namespace
}  // namespace signalbox
