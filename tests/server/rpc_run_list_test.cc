// Tests the filters, orders and totals of `run.list`.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <boost/json/serialize.hpp>

#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

namespace json = boost::json;

class RpcRunListTest : public ::testing::Test, protected RpcSite {
 protected:
  using Goals = std::vector<std::string>;

  std::string start(const std::string& goal, const std::string& station = R"({"name":"build"})") {
    return start_run(R"({"goal":")" + goal + R"(","pipeline":{"name":"p","station":[)" + station +
                     "]}}");
  }
  void cancel(const std::string& run) { ask("run.cancel", R"({"run_id":")" + run + "\"}"); }
  void fail(const std::string& run, const std::string& code) {
    const json::object claimed =
        ask("station.claim", R"({"worker":"w","run_id":")" + run + "\"}").at("result").as_object();
    const json::object failed =
        ask("station.complete", R"({"run_id":")" + run + R"(","station":"build","token":)" +
                                    json::serialize(claimed.at("claim").at("token")) +
                                    R"(,"outcome":"failed","error_class":"config","error_code":")" +
                                    code + R"(","error_message":"it broke"})");
    EXPECT_EQ(code_of(failed), "") << json::serialize(failed);
  }
  json::object list(const std::string& params) {
    json::object answer = ask("run.list", params);
    EXPECT_TRUE(answer.contains("result")) << json::serialize(answer);
    return answer.at("result").as_object();
  }
  static Goals goals_in(const json::object& page) {
    Goals goals;
    for (const json::value& run : page.at("runs").as_array()) {
      goals.emplace_back(run.at("goal").as_string());
    }
    return goals;
  }
  Goals goals(const std::string& params) { return goals_in(list(params)); }
};

TEST_F(RpcRunListTest, AFilterOfSeveralStatusesMatchesAnyOfThem) {  // O5
  start("open");
  cancel(start("canceled"));
  fail(start("failed"), "BROKEN");
  EXPECT_EQ(goals(R"({"status":["failed","canceled"]})"), Goals({"failed", "canceled"}));
  EXPECT_EQ(goals(R"({"status":"queued,failed"})"), Goals({"failed", "open"}));
  EXPECT_EQ(goals(R"({"status":"canceled"})"), Goals({"canceled"}));
  EXPECT_EQ(goals(R"({"status":null})").size(), 3U);
  EXPECT_EQ(code_of(ask("run.list", R"({"status":"failed,nothing"})")), "INVALID_PARAMS");
}

TEST_F(RpcRunListTest, RunsAreFoundByWhatTheyWaitForByStationCodeAndText) {  // O5
  start("Fix the Parser");
  start("Ask me", R"({"name":"ask","executor":"approval"})");
  fail(start("Break it"), "BROKEN");
  EXPECT_EQ(goals(R"({"waiting_for":"approval"})"), Goals({"Ask me"}));
  EXPECT_EQ(goals(R"({"waiting_for":["quota","budget"]})"), Goals());
  EXPECT_EQ(goals(R"({"station":"ask"})"), Goals({"Ask me"}));
  EXPECT_EQ(goals(R"({"code":"BROKEN"})"), Goals({"Break it"}));
  EXPECT_EQ(goals(R"({"text":"PARS"})"), Goals({"Fix the Parser"}));
  EXPECT_EQ(goals(R"({"text":"pars","station":"ask"})"), Goals());
}

TEST_F(RpcRunListTest, AnAgeIsATimeBeforeNow) {  // O4
  start("long ago");
  clock.advance_ms(3'600'000);
  start("just now");
  EXPECT_EQ(goals(R"({"since":"10m"})"), Goals({"just now"}));
  EXPECT_EQ(goals(R"({"until":"10m"})"), Goals({"long ago"}));
  EXPECT_EQ(code_of(ask("run.list", R"({"since":"lately"})")), "INVALID_PARAMS");
}

TEST_F(RpcRunListTest, RunsAreSortedByTheirLatestEventOrTheirEnd) {  // O5
  const std::string first = start("first");
  const std::string second = start("second");
  start("third");
  cancel(second);
  cancel(first);
  EXPECT_EQ(goals(R"({"order_by":"started"})"), Goals({"third", "second", "first"}));
  EXPECT_EQ(goals(R"({"order_by":"updated"})"), Goals({"first", "second", "third"}));
  EXPECT_EQ(goals(R"({"order_by":"ended"})"), Goals({"first", "second"}));
  Goals paged;
  std::string more;
  do {
    const json::object page = list(R"({"order_by":"updated","limit":1)" + more + "}");
    for (const std::string& goal : goals_in(page)) paged.push_back(goal);
    const json::value& cursor = page.at("next_cursor");
    more = cursor.is_null() ? "" : R"(,"cursor":)" + json::serialize(cursor);
  } while (!more.empty() && paged.size() < 9);
  EXPECT_EQ(paged, Goals({"first", "second", "third"}));
}

TEST_F(RpcRunListTest, TotalsAreOfAllStatusesThatTheOtherFiltersMatch) {  // O5
  start("web one");
  start("web two");
  cancel(start("web three"));
  cancel(start("other"));
  const json::object page = list(R"({"text":"web","status":"canceled","limit":1,"totals":true})");
  EXPECT_EQ(goals_in(page), Goals({"web three"}));
  EXPECT_EQ(page.at("totals").at("queued"), 2);
  EXPECT_EQ(page.at("totals").at("canceled"), 1);
  EXPECT_EQ(page.at("totals").at("failed"), 0);
  EXPECT_EQ(list(R"({"totals":"true"})").at("totals").at("canceled"), 2);
  EXPECT_FALSE(list("{}").contains("totals"));
}

// Its row has the cancellation's reason as its message then, which isn't that of the failure.
TEST_F(RpcRunListTest, ARunThatIsBeingCanceledShowsNoErrorOfAnAttemptBefore) {  // O5
  const std::string run = start("g", R"({"name":"build","executor":"process","command":["true"],
      "retry":{"max_retries":3,"backoff":"0s"}})");
  const RunId id = *parse_uuid(run);
  const auto dispatch = [this, &id] {
    DispatchStation command;
    command.run_id = id;
    command.span_id = ids.next_span_id();
    take(command);
  };
  dispatch();
  CompleteStation failed;
  failed.from_executor = true;
  failed.run_id = id;
  failed.station = "build";
  failed.token = engine.world().find_run(id)->attempt->token;
  failed.outcome = Outcome::failed;
  failed.error_class = ErrorClass::transient;
  failed.error_code = "FELL";
  failed.error_message = "it fell";
  take(failed);
  take(WakeStation{id});
  dispatch();
  const auto shown = [this] { return list("{}").at("runs").at(0).as_object(); };
  EXPECT_EQ(shown().at("error").at("message"), "it fell");
  ask("run.cancel", R"({"run_id":")" + run + R"(","reason":"enough"})");
  ASSERT_EQ(shown().at("cancel_requested"), true);
  EXPECT_FALSE(shown().contains("error")) << json::serialize(shown());
}

}  // namespace
}  // namespace signalbox
