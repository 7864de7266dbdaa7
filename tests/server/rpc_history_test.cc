// Tests what a bar of the whole log is made of: `events.histogram`, `log.marks`, `timeline.get`.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include <boost/json/serialize.hpp>

#include "server/rpc/page_limit.h"
#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

namespace json = boost::json;

class RpcHistory : public ::testing::Test, protected RpcSite {
 protected:
  json::object result_of(const std::string& method, const std::string& params = "{}") {
    json::object answer = ask(method, params);
    EXPECT_TRUE(answer.contains("result")) << method << " " << json::serialize(answer);
    return answer.contains("result") ? answer.at("result").as_object() : json::object{};
  }
  std::string start(const std::string& goal) {
    return start_run(R"({"goal":")" + goal +
                     R"(","pipeline":{"name":"p","station":[{"name":"build"}]}})");
  }
  void fail(const std::string& run) {
    const json::object claimed =
        result_of("station.claim", R"({"worker":"w","run_id":")" + run + "\"}");
    result_of("station.complete", R"({"run_id":")" + run + R"(","station":"build","token":)" +
                                      json::serialize(claimed.at("claim").at("token")) +
                                      R"(,"outcome":"failed","error_class":"config",)" +
                                      R"("error_code":"BROKEN","error_message":"it broke"})");
  }
  std::string acquire(const std::string& key, const std::string& owner) {
    return json::serialize(result_of("lock.acquire", R"({"key":")" + key + R"(","owner":")" +
                                                         owner + R"(","lease_ms":3600000})")
                               .at("token"));
  }
  void release(const std::string& key, const std::string& token) {
    result_of("lock.release", R"({"key":")" + key + R"(","token":)" + token + "}");
  }
  void cancel(const std::string& run) { result_of("run.cancel", R"({"run_id":")" + run + "\"}"); }
};

TEST_F(RpcHistory, AHistogramCountsEveryEventOnce) {  // O5
  for (int hour = 0; hour < 5; ++hour) {
    fail(start("failed"));
    cancel(start("canceled"));
    clock.advance_ms(3'600'000);
  }
  for (const int buckets : {1, 3, 7, 100, 4000}) {
    const json::object histogram =
        result_of("events.histogram", R"({"buckets":)" + std::to_string(buckets) + "}");
    std::uint64_t events = 0;
    std::uint64_t failed = 0;
    std::uint64_t canceled = 0;
    std::uint64_t last = 0;
    for (const json::value& bucket : histogram.at("buckets").as_array()) {
      events += bucket.at("events").to_number<std::uint64_t>();
      EXPECT_EQ(bucket.at("first_position").to_number<std::uint64_t>(), last + 1);
      last = bucket.at("last_position").to_number<std::uint64_t>();
      const json::object& counts = bucket.at("counts").as_object();
      if (counts.contains("failed")) failed += counts.at("failed").to_number<std::uint64_t>();
      if (counts.contains("canceled")) {
        canceled += counts.at("canceled").to_number<std::uint64_t>();
      }
    }
    EXPECT_LE(histogram.at("buckets").as_array().size(), static_cast<std::size_t>(buckets) + 1);
    EXPECT_EQ(events, log.tail()) << buckets;
    EXPECT_EQ(last, log.tail()) << buckets;
    EXPECT_EQ(failed, 5U) << buckets;
    EXPECT_EQ(canceled, 5U) << buckets;
  }
}

TEST_F(RpcHistory, AHistogramCountsByTypeAndNounInASpan) {  // O5
  start("first");
  clock.advance_ms(3'600'000);
  start("second");
  ask("lock.acquire", R"({"key":"deploy","owner":"ops","lease_ms":60000})");
  clock.advance_ms(1'000);
  const json::object by_type =
      result_of("events.histogram", R"({"from":"10m","buckets":1,"by":"type"})");
  ASSERT_EQ(by_type.at("buckets").as_array().size(), 1U) << json::serialize(by_type);
  const json::value& types = by_type.at("buckets").at(0).at("counts");
  EXPECT_EQ(types.at("RunStarted"), 1);
  EXPECT_EQ(types.at("LockAcquired"), 1);
  const json::object by_noun =
      result_of("events.histogram", R"({"from":1,"buckets":1,"by":"noun"})");
  EXPECT_EQ(by_noun.at("buckets").at(0).at("counts").at("run"), 2);
  EXPECT_EQ(by_noun.at("buckets").at(0).at("counts").at("lock"), 1);
  EXPECT_EQ(code_of(ask("events.histogram", R"({"from":"1h","to":"2h"})")), "INVALID_PARAMS");
  EXPECT_EQ(code_of(ask("events.histogram", R"({"from":"lately"})")), "INVALID_PARAMS");
  EXPECT_EQ(code_of(ask("events.histogram", R"({"buckets":4001})")), "INVALID_PARAMS");
  EXPECT_EQ(code_of(ask("events.histogram", R"({"from":100000})")), "POSITION_NOT_FOUND");
}

TEST_F(RpcHistory, MarksAreListedBothWaysAndByKind) {  // O5
  const std::string first = start("first");
  fail(first);
  const Position failed_first = log.tail();
  take(NoteClockJump{3'600'000, 10, "wall clock set"});
  const Position jumped = log.tail();
  clock.advance_ms(3'600'000);
  fail(start("second"));
  const Position failed_second = log.tail();
  const auto positions = [this](const std::string& params) {
    std::vector<Position> found;
    const json::object page = result_of("log.marks", params);
    for (const json::value& mark : page.at("marks").as_array()) {
      found.push_back(mark.at("position").to_number<Position>());
    }
    return found;
  };
  using Positions = std::vector<Position>;
  EXPECT_EQ(positions("{}"), Positions({failed_first, jumped, failed_second}));
  EXPECT_EQ(positions(R"({"backwards":true})"), Positions({failed_second, jumped, failed_first}));
  EXPECT_EQ(positions(R"({"kinds":"failure"})"), Positions({failed_first, failed_second}));
  EXPECT_EQ(positions(R"({"kinds":["clock_jump","crash"]})"), Positions({jumped}));
  EXPECT_EQ(positions(R"({"from":"10m"})"), Positions({failed_second}));
  // The next failure, and the one before.
  const std::string of_failures = R"({"kinds":"failure","limit":1,"cursor":)";
  EXPECT_EQ(positions(of_failures + std::to_string(jumped) + "}"), Positions({failed_second}));
  EXPECT_EQ(positions(of_failures + std::to_string(jumped) + R"(,"backwards":true})"),
            Positions({failed_first}));
  const json::object page = result_of("log.marks", R"({"limit":1})");
  const json::value& mark = page.at("marks").at(0);
  EXPECT_EQ(mark.at("kind"), "failure");
  EXPECT_EQ(mark.at("run_id"), json::string_view(first));
  EXPECT_EQ(mark.at("text"), "BROKEN");
  const std::string next = json::serialize(page.at("next_cursor"));
  EXPECT_EQ(positions(R"({"limit":1,"cursor":)" + next + "}"), Positions({jumped}));
}

TEST_F(RpcHistory, ATimelineShowsOldRunsThatAreOpenStill) {  // O5
  start("open for long");
  cancel(start("ended long ago"));
  clock.advance_ms(timeline_run_ms_max + 2 * 3'600'000);
  start("new");
  clock.advance_ms(60'000);
  const json::object shown = result_of("timeline.get", R"({"from":"1h"})");
  std::vector<std::string> goals;
  for (const json::value& row : shown.at("rows").as_array()) {
    goals.emplace_back(row.at("goal").as_string());
  }
  EXPECT_EQ(goals, (std::vector<std::string>{"new", "open for long"}));
  EXPECT_EQ(shown.at("rows").at(1).at("bars").at(0).at("from"), shown.at("from"));
}

TEST_F(RpcHistory, ATimelineMergesRunsThatAScreenCantTellApart) {  // O5
  for (int each = 0; each < 50; ++each) {
    cancel(start("short"));
    clock.advance_ms(100);
  }
  clock.advance_ms(3'600'000);
  start("open");
  clock.advance_ms(60'000);
  const json::object by_run = result_of("timeline.get", R"({"from":"2h","max_rows":10})");
  EXPECT_EQ(by_run.at("rows").as_array().size(), 10U);
  EXPECT_EQ(by_run.at("rows_total"), 51);
  EXPECT_EQ(by_run.at("rows").at(0).at("goal"), "open");
  EXPECT_EQ(by_run.at("rows").at(0).at("bars").at(0).at("status"), "queued");
  EXPECT_EQ(by_run.at("rows").at(0).at("bars").at(0).at("to"), by_run.at("to"));
  const json::object by_pipeline =
      result_of("timeline.get", R"({"from":"2h","group":"pipeline","resolution_ms":10000})");
  ASSERT_EQ(by_pipeline.at("rows").as_array().size(), 1U);
  std::map<std::string, std::uint64_t> runs;
  for (const json::value& bar : by_pipeline.at("rows").at(0).at("bars").as_array()) {
    const std::string status(bar.at("status").as_string());
    EXPECT_FALSE(runs.contains(status)) << "two bars where one is enough";
    runs[status] = bar.at("runs").to_number<std::uint64_t>();
  }
  EXPECT_EQ(runs, (std::map<std::string, std::uint64_t>{{"canceled", 50}, {"queued", 1}}));
  EXPECT_EQ(by_pipeline.at("runs_total"), 51);
  // Before the open one began.
  EXPECT_EQ(result_of("timeline.get", R"({"from":"2h","to":"10m"})").at("runs_total"), 50);
  const auto of_a_day = [this](std::int64_t resolution_ms) {
    return ask("timeline.get",
               R"({"from":"24h","resolution_ms":)" + std::to_string(resolution_ms) + "}");
  };
  constexpr std::int64_t day_ms = 24LL * 60 * 60 * 1000;
  const json::object refused = of_a_day(1);
  EXPECT_EQ(code_of(refused), "INVALID_PARAMS");
  const auto finest_ms = details_of(refused).at("min").to_number<std::int64_t>();
  EXPECT_GE(finest_ms * timeline_columns_max, day_ms);
  EXPECT_LE((finest_ms - 1) * timeline_columns_max, day_ms);
  EXPECT_EQ(code_of(of_a_day(finest_ms)), "");
  EXPECT_EQ(code_of(of_a_day(finest_ms - 1)), "INVALID_PARAMS");
}

TEST_F(RpcHistory, ATimelineOfLocksShowsWhoHeldWhatWhen) {  // L10
  const std::string first = acquire("deploy", "ann");
  clock.advance_ms(1'800'000);
  const Position held_by_ann = log.tail();
  release("deploy", first);
  const std::string second = acquire("deploy", "bob");
  clock.advance_ms(60'000);
  for (int each = 0; each < 50; ++each) {
    release("build", acquire("build", each % 2 == 0 ? "x" : "y"));
    clock.advance_ms(100);
  }
  const json::object shown = result_of("timeline.get", R"({"from":"2h","group":"lock"})");
  EXPECT_FALSE(shown.contains("runs_total"));
  EXPECT_EQ(shown.at("holds_total"), 52);
  ASSERT_EQ(shown.at("rows_total"), 2);
  const json::object& build = shown.at("rows").at(0).as_object();
  EXPECT_EQ(build.at("name"), "build");
  EXPECT_EQ(build.at("holds"), 50);
  EXPECT_LE(build.at("bars").as_array().size(), 3U) << "a screen can't tell them apart";
  const json::object& many = build.at("bars").at(0).as_object();
  EXPECT_FALSE(many.contains("owner")) << json::serialize(many);
  EXPECT_FALSE(many.contains("token"));
  // Those who took over from each other are told apart, however near they are.
  const json::array& bars = shown.at("rows").at(1).at("bars").as_array();
  ASSERT_EQ(bars.size(), 2U) << json::serialize(bars);
  EXPECT_EQ(bars.at(0).at("status"), "held");
  EXPECT_EQ(bars.at(0).at("owner"), "bob");
  EXPECT_EQ(json::serialize(bars.at(0).at("token")), second);
  EXPECT_EQ(bars.at(0).at("to"), shown.at("to"));
  EXPECT_EQ(bars.at(1).at("status"), "released");
  EXPECT_EQ(bars.at(1).at("owner"), "ann");
  EXPECT_EQ(bars.at(1).at("holds"), 1);
  EXPECT_EQ(json::serialize(bars.at(1).at("token")), first);
  // As of a moment at which she held it.
  const json::object then = result_of(
      "timeline.get", R"({"from":"2h","group":"lock","to":)" + std::to_string(held_by_ann) + "}");
  EXPECT_EQ(then.at("holds_total"), 1);
  EXPECT_EQ(code_of(ask("timeline.get", R"({"group":"lock","project":"web"})")), "INVALID_PARAMS");
}

}  // namespace
}  // namespace signalbox
