// Tests `events.read`: forwards and backwards, from moments, by stream and actor.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include <boost/json/serialize.hpp>

#include "store/codec.h"
#include "tests/fixtures/file_content.h"
#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

namespace json = boost::json;

class RpcEventsRead : public ::testing::Test, protected RpcSite {
 protected:
  using Positions = std::vector<std::uint64_t>;

  json::object read(const std::string& params) {
    json::object answer = ask("events.read", params);
    EXPECT_TRUE(answer.contains("result")) << json::serialize(answer);
    return answer.at("result").as_object();
  }
  static Positions positions_in(const json::object& page) {
    Positions positions;
    for (const json::value& event : page.at("events").as_array()) {
      positions.push_back(event.at("position").to_number<std::uint64_t>());
    }
    return positions;
  }
  Positions positions(const std::string& params) { return positions_in(read(params)); }
  // Reads all pages of this limit.
  Positions paged(const std::string& params, std::size_t limit) {
    Positions all;
    std::string from;
    for (;;) {
      const json::object page =
          read("{" + params + R"("limit":)" + std::to_string(limit) + from + "}");
      for (const std::uint64_t position : positions_in(page)) all.push_back(position);
      if (!page.at("more").as_bool()) return all;
      if (all.size() > log.tail()) {
        ADD_FAILURE() << "events come twice";
        return all;
      }
      from = R"(,"from":)" + json::serialize(page.at("next_from"));
    }
  }
};

TEST_F(RpcEventsRead, EachCallerHasALaneOfItsOwnHoweverManyConnections) {  // G7
  const std::string run = start_run(R"({"goal":"g"})");
  std::vector<std::string> lanes;
  api.log_readers = BlockingPool(
      [&lanes](const Lane& lane, const std::function<void()>& action) {
        lanes.push_back(lane.name);
        action();
      },
      at_once);
  for (const std::string caller : {"token:one", "token:one", "token:other"}) {
    const auto connection = std::make_shared<ListeningPeer>();
    for (const std::string& params : {std::string("{}"), R"({"run_id":")" + run + "\"}"}) {
      dispatcher.handle(request("events.read", params), {caller, Role::viewer}, connection);
      settle();
      EXPECT_EQ(code_of(connection->next()), "");
    }
  }
  const std::string one = "events for token:one";
  const std::string other = "events for token:other";
  EXPECT_EQ(lanes, (std::vector<std::string>{one, one, one, one, other, other}));
}

TEST_F(RpcEventsRead, BackwardsGivesTheSameEventsTheNewestFirst) {  // O5
  for (int each = 0; each < 300; ++each) start_run(R"({"goal":"g"})");
  Positions forwards = paged("", 7);
  EXPECT_EQ(forwards.size(), log.tail());
  for (const std::size_t limit : {1U, 7U, 255U, 256U, 257U, 1000U}) {
    Positions backwards = paged(R"("backwards":true,)", limit);
    std::reverse(backwards.begin(), backwards.end());
    EXPECT_EQ(backwards, forwards) << limit;
  }
  EXPECT_EQ(positions(R"({"backwards":true,"from":3,"limit":2})"), Positions({3, 2}));
  EXPECT_EQ(positions(R"({"backwards":true,"from":100000,"limit":1})"), Positions({log.tail()}));
}

TEST_F(RpcEventsRead, APageBeginsAtATimeOrAnAge) {  // O4
  start_run(R"({"goal":"long ago"})");
  const Position before = log.tail();
  clock.advance_ms(3'600'000);
  start_run(R"({"goal":"just now"})");
  EXPECT_EQ(positions(R"({"from":"10m","limit":1})"), Positions({before + 1}));
  EXPECT_EQ(positions(R"({"from":"10m","limit":1,"backwards":true})"), Positions({before}));
  EXPECT_EQ(positions(R"({"from":"48h","limit":1})"), Positions({1}));
  EXPECT_EQ(positions(R"({"from":"48h","backwards":true})"), Positions());
  EXPECT_EQ(positions(R"({"from":"2","limit":1})"), Positions({2}));
  const json::object refused = ask("events.read", R"({"from":"yesterday"})");
  EXPECT_EQ(code_of(refused), "INVALID_PARAMS");
  EXPECT_EQ(details_of(refused).at("field"), "from");
  EXPECT_EQ(code_of(ask("events.read", R"({"from":-1})")), "INVALID_PARAMS");
}

TEST_F(RpcEventsRead, EventsAreFoundByStreamAndByActor) {  // O5
  start_run(R"({"goal":"g"})");
  ask("lock.acquire", R"({"key":"deploy","owner":"ops","lease_ms":60000})");
  const Position lock = log.tail();
  start_run(R"({"goal":"g"})");
  take(NoteClockJump{3'600'000, 10, "wall clock set"});
  EXPECT_EQ(positions(R"({"stream":"lock/deploy"})"), Positions({lock}));
  EXPECT_EQ(positions(R"({"stream":"lock/deploy","backwards":true})"), Positions({lock}));
  EXPECT_EQ(positions(R"({"actor":"signalbox"})"), Positions({log.tail()}));
  EXPECT_EQ(positions(R"({"actor":"uid:1"})").size(), log.tail() - 1);
  EXPECT_EQ(positions(R"({"actor":"uid:1","stream":"lock/deploy"})"), Positions({lock}));
  EXPECT_EQ(positions(R"({"stream":"lock/other"})"), Positions());
}

// The read models know where they are, so a page doesn't end among those of others.
TEST_F(RpcEventsRead, EventsOfARunAreFoundBehindManyOthers) {  // O5
  const auto happen = [this](int events) {
    for (int each = 0; each < events; ++each) take(NoteClockJump{1, 1, "wall clock set"});
  };
  happen(20'001);  // more than a page reads
  const Position before = log.tail();
  const std::string run = start_run(R"({"goal":"g"})");
  ask("run.cancel", R"({"run_id":")" + run + R"("})");
  Positions all;
  for (Position position = before + 1; position <= log.tail(); ++position) all.push_back(position);
  happen(300);
  const std::string of_run = R"({"run_id":")" + run + R"(")";
  for (const char* more : {"}", R"(,"from":2})"}) {
    const json::object page = read(of_run + more);
    EXPECT_EQ(positions_in(page), all) << more;
    EXPECT_FALSE(page.at("more").as_bool()) << more;
  }
  const json::object newest_first = read(of_run + R"(,"backwards":true})");
  EXPECT_EQ(positions_in(newest_first), Positions(all.rbegin(), all.rend()));
  EXPECT_FALSE(newest_first.at("more").as_bool());
  EXPECT_EQ(paged(R"("run_id":")" + run + R"(",)", 1), all);
  EXPECT_EQ(positions(of_run + R"(,"from":)" + std::to_string(log.tail()) + "}"), Positions());
  // An open run has heartbeats, which the read models leave out.
  const Position last = log.tail();
  const std::string open =
      start_run(R"({"goal":"g","pipeline":{"name":"w","station":[{"name":"build"}]}})");
  const json::object claimed = ask("station.claim", R"({"worker":"ann","stations":["build"]})");
  ask("station.heartbeat", R"({"run_id":")" + open + R"(","station":"build","token":)" +
                               json::serialize(claimed.at("result").at("claim").at("token")) + "}");
  EXPECT_EQ(event_types(log.tail()), std::vector<std::string>{"StationHeartbeat"});
  Positions of_open;
  for (Position position = last + 1; position <= log.tail(); ++position) {
    of_open.push_back(position);
  }
  EXPECT_EQ(positions(R"({"run_id":")" + open + R"("})"), of_open);
}

TEST_F(RpcEventsRead, EveryTypeOfEventHasASentence) {  // O5
  const json::object result = ask("events.types").at("result").as_object();
  const json::array& types = result.at("types").as_array();
  EXPECT_EQ(types.size(), event_tags().size());
  for (const EventTag& tag : event_tags()) {
    const auto found = std::find_if(types.begin(), types.end(), [&tag](const json::value& each) {
      return each.at("type").as_string() == json::string_view(tag.name);
    });
    ASSERT_NE(found, types.end()) << tag.name;
    const std::string sentence(found->at("sentence").as_string());
    EXPECT_TRUE(sentence.ends_with(".")) << tag.name << ": " << sentence;
    EXPECT_LE(sentence.size(), 76U) << tag.name;
    EXPECT_EQ(found->at("number"), tag.number) << tag.name;
  }
  const auto acquired = std::find_if(types.begin(), types.end(), [](const json::value& each) {
    return each.at("type") == "LockAcquired";
  });
  ASSERT_NE(acquired, types.end());
  EXPECT_EQ(acquired->at("noun"), "lock");
  EXPECT_GT(acquired->at("fields").as_array().size(), 2U);
}

// What somebody has decided about who may do what is on the console's page about that.
TEST_F(RpcEventsRead, TheConsolesAuditPageAsksForEachDecisionAboutAccess) {  // O5
  const std::string page = content_of(SIGNALBOX_SOURCE_DIR "/server/console/pages/audit.js");
  const json::object result = ask("events.types").at("result").as_object();
  std::size_t decisions = 0;
  for (const json::value& each : result.at("types").as_array()) {
    if (each.at("noun") != "access" && each.at("noun") != "runner") continue;
    const std::string type(each.at("type").as_string());
    EXPECT_NE(page.find("'" + type + "'"), std::string::npos) << type;
    ++decisions;
  }
  EXPECT_GE(decisions, 9U);
}

}  // namespace
}  // namespace signalbox
