// Tests `report.get`: what happened since a moment, in numbers, and what waits.
#include <string>
#include <vector>

#include "server/limits.h"
#include "server/rpc/methods/families.h"
#include "tests/fixtures/wrapped_log.h"
#include "tests/server/board_site.h"

namespace signalbox {
namespace {

namespace json = boost::json;

// Another log's records, from a disk that takes its time for each.
class SlowLog final : public test::WrappedLog {
 public:
  SlowLog(EventLog& log, TestClock& clock) : WrappedLog(log), clock_(clock) {}

  Stored<Position> scan(Position from, Position to, const Visit& visit) const override {
    return WrappedLog::scan(from, to, [&](Record&& record) {
      clock_.advance_ms(record_ms);
      record_ms += more_ms;
      return visit(std::move(record));
    });
  }

  mutable std::int64_t record_ms = 0;
  std::int64_t more_ms = 0;  // each record takes so much longer than the one before

 private:
  TestClock& clock_;
};

class RpcReport : public BoardSite {
 protected:
  json::object report(const std::string& params = "{}") {
    const auto answer = ask("report.get", params);
    EXPECT_EQ(code_of(answer), "") << json::serialize(answer);
    return code_of(answer).empty() ? answer.at("result").as_object() : json::object();
  }
  json::object since(const std::string& moment) { return report(R"({"since":")" + moment + "\"}"); }
  // Starts a run with one station of a worker, "build".
  std::string start_working(const std::string& goal) {
    return start_run(
        R"({"goal":")" + goal +
        R"(","pipeline":{"name":"w","station":[{"name":"build","heartbeat_timeout":"1h"}]},"max_retries":0})");
  }
  json::object claim() {
    return ask("station.claim", R"({"worker":"ann","stations":["build"]})")
        .at("result")
        .at("claim")
        .as_object();
  }
  void complete(const json::object& claimed, const std::string& more) {
    const auto done =
        ask("station.complete", R"({"run_id":)" + json::serialize(claimed.at("run_id")) +
                                    R"(,"station":"build","outcome":"succeeded","token":)" +
                                    json::serialize(claimed.at("token")) + "," + more + "}");
    EXPECT_EQ(code_of(done), "") << json::serialize(done);
  }
  void fail(const std::string& code, const std::string& more = "") {
    work("build", "failed", R"(,"error_class":"terminal","error_code":")" + code + "\"" + more);
  }
  static std::int64_t number(const json::object& object, const char* field) {
    return object.at(field).to_number<std::int64_t>();
  }
};

TEST_F(RpcReport, AnEmptyLogHasAnEmptyReport) {  // O3
  const json::object empty = report();
  EXPECT_EQ(number(empty.at("runs").as_object(), "started"), 0);
  EXPECT_TRUE(empty.at("failures").as_array().empty());
  EXPECT_TRUE(empty.at("crashes").as_array().empty());
  EXPECT_EQ(empty.at("waiting").at("total"), 0);
}

// A clock ran three days ahead, and was set right.
TEST_F(RpcReport, APeriodNeverEndsBeforeItBegins) {  // O3
  clock.set_by_ns = std::int64_t{3} * 24 * 3600 * 1'000'000'000;
  start_working("of the future");
  clock.set_by_ns = 0;
  for (const char* moment : {"8h", "1"}) {
    const json::object shown = since(moment);
    EXPECT_LE(shown.at("since").as_string(), shown.at("until").as_string())
        << json::serialize(shown);
  }
}

TEST_F(RpcReport, EachCallerHasALaneOfItsOwn) {  // G7
  std::vector<std::string> lanes;
  std::vector<bool> have_places;
  const BlockingPool::ToLanes to_lanes = [&](const Lane& lane,
                                             const std::function<void()>& action) {
    lanes.push_back(lane.name);
    have_places.push_back(lane.has_place);
    EXPECT_EQ(lane.deadline_ms, limits::report_hang_ms_max) << "who waits behind it is answered";
    EXPECT_TRUE(lane.counts_from_begin);
    action();
  };
  api.log_readers = BlockingPool(to_lanes, at_once);
  report();
  for (const std::string caller : {"token:other", "tcp:127.0.0.2"}) {
    dispatcher.handle(request("report.get", "{}"), {caller, Role::viewer}, peer);
    settle();
    EXPECT_EQ(code_of(peer->next()), "");
  }
  EXPECT_EQ(lanes, (std::vector<std::string>{"reports of uid:1", "reports of token:other",
                                             "reports of tcp:127.0.0.2"}));
  EXPECT_EQ(have_places, (std::vector<bool>{true, true, false}))
      << "one client may come under many addresses";
}

// A report of a year isn't refused by a slow disk: it has what could be read in time.
TEST_F(RpcReport, APeriodThatTakesTooLongIsCut) {  // O3
  start_working("the first");
  while (log.tail() < 1500) start_working("many");
  SlowLog slow(log, clock);
  Api slowly = api_of(slow);
  Dispatcher asked(slowly, report_methods({{}, loops}, {}));
  const auto answer_with = [&](std::int64_t record_ms) {
    slow.record_ms = record_ms;
    asked.handle(request("report.get", R"({"since":"0"})"), {"uid:1", Role::viewer}, peer);
    settle();
    return peer->next();
  };
  const json::object whole = answer_with(0).at("result").as_object();
  EXPECT_EQ(whole.at("cut"), false);
  EXPECT_EQ(number(whole, "from"), 1);

  const json::object answer = answer_with(40);  // 1500 records take a minute
  ASSERT_EQ(code_of(answer), "") << json::serialize(answer);
  const json::object cut = answer.at("result").as_object();
  EXPECT_EQ(cut.at("cut"), true);
  // 640 records were read when the 25 seconds were over.
  EXPECT_EQ(number(cut, "from"), static_cast<std::int64_t>(log.tail()) - 320 + 1);
  EXPECT_GT(number(cut.at("runs").as_object(), "started"), 0);

  slow.more_ms = 10;
  const json::object refused = answer_with(100);
  EXPECT_EQ(code_of(refused), "OVERLOADED");
  EXPECT_EQ(refused.at("error").at("data").at("next_commands").at(0), "signalbox report --since 1h")
      << json::serialize(refused);
}

TEST_F(RpcReport, OneThatNobodyWaitsForSaysThatTheServiceStops) {  // G6
  std::vector<std::string> codes;
  for (const LaneFailure why : {LaneFailure::unwanted, LaneFailure::late}) {
    api.log_readers = BlockingPool(
        [why](const Lane& lane, const std::function<void()>&) { lane.failed(why); }, at_once);
    codes.push_back(code_of(ask("report.get")));
  }
  EXPECT_EQ(codes, (std::vector<std::string>{"SHUTTING_DOWN", "OVERLOADED"}));
}

TEST_F(RpcReport, RunsCountByOutcomeAndFailuresByCode) {  // O3
  start_working("one");
  work("build");
  start_working("two");
  fail("NO_IDEA");
  start_working("three");
  fail("NO_IDEA");
  start_working("four");
  fail("NO_SPACE");
  const std::string canceled = start_working("five");
  ask("run.cancel", R"({"run_id":")" + canceled + "\"}");
  start_working("six");

  const json::object shown = report();
  const json::object& runs = shown.at("runs").as_object();
  EXPECT_EQ(number(runs, "started"), 6);
  EXPECT_EQ(number(runs, "succeeded"), 1);
  EXPECT_EQ(number(runs, "failed"), 3);
  EXPECT_EQ(number(runs, "canceled"), 1);
  EXPECT_EQ(number(shown.at("open").as_object(), "queued"), 1);
  const json::object& attempts = shown.at("attempts").as_object();
  EXPECT_EQ(number(attempts, "started"), 4);
  EXPECT_EQ(number(attempts, "failed"), 3);

  const json::array& failures = shown.at("failures").as_array();
  ASSERT_EQ(failures.size(), 2U);
  EXPECT_EQ(failures[0].at("code"), "NO_IDEA");
  EXPECT_EQ(failures[0].at("runs").to_number<int>(), 2);
  EXPECT_EQ(failures[0].at("latest").at("goal"), "three");
  EXPECT_EQ(failures[0].at("latest").at("station"), "build");
  EXPECT_EQ(failures[1].at("code"), "NO_SPACE");
  EXPECT_EQ(shown.at("waiting").at("counts").at("failed_run").to_number<int>(), 3);
  EXPECT_EQ(shown.at("position").to_number<Position>(), log.tail());
}

// A run that failed and was retried counts once, as it ended last.
TEST_F(RpcReport, ARetriedRunCountsAsItEndedLast) {  // O3
  const std::string run = start_working("again");
  fail("NO_IDEA");
  ask("run.retry", R"({"run_id":")" + run + "\"}");
  const json::object open = report();
  EXPECT_EQ(number(open.at("runs").as_object(), "failed"), 0);
  EXPECT_EQ(number(open.at("runs").as_object(), "retried"), 1);
  work("build");
  const json::object ended = report();
  EXPECT_EQ(number(ended.at("runs").as_object(), "failed"), 0);
  EXPECT_EQ(number(ended.at("runs").as_object(), "succeeded"), 1);
  const json::array& failures = ended.at("failures").as_array();
  ASSERT_EQ(failures.size(), 1U);
  EXPECT_EQ(failures[0].at("runs").to_number<int>(), 0);
  EXPECT_EQ(failures[0].at("attempts").to_number<int>(), 1);
}

TEST_F(RpcReport, MoneyAndTokensAreSummedAndTheCostliestRunIsNamed) {  // O3
  start_working("cheap");
  work("build", "succeeded", R"(,"usage":{"cost_microusd":1000000,"tokens":10,"turns":1})");
  start_working("dear");
  fail("NO_IDEA", R"(,"usage":{"cost_microusd":2500000,"tokens":20,"turns":2})");
  const json::object shown = report();
  const json::object& usage = shown.at("usage").as_object();
  EXPECT_EQ(number(usage, "cost_microusd"), 3'500'000);
  EXPECT_EQ(number(usage, "tokens"), 30);
  EXPECT_EQ(number(usage.at("failed").as_object(), "cost_microusd"), 2'500'000);
  const json::array& costliest = usage.at("costliest").as_array();
  ASSERT_EQ(costliest.size(), 2U);
  EXPECT_EQ(costliest[0].at("goal"), "dear");
  EXPECT_EQ(costliest[0].at("used").at("cost_microusd").to_number<int>(), 2'500'000);
}

std::vector<std::int64_t> numbers(const json::object& over_time, const char* field) {
  std::vector<std::int64_t> found;
  for (const json::value& each : over_time.at(field).as_array()) {
    found.push_back(each.to_number<std::int64_t>());
  }
  return found;
}

// Forty minutes in four spans. In each a run is started, worked on, or over; what was open before
// the period is known from its end.
TEST_F(RpcReport, TheQueueTheWorkAndTheMoneyAreThereOverTime) {  // O3 C1
  using Numbers = std::vector<std::int64_t>;
  const auto later = [this] { clock.advance_ms(600'000); };
  EXPECT_FALSE(report().contains("over_time")) << "it wasn't asked for";
  start_working("before");
  start_working("also before");
  clock.advance_ms(1000);
  const Position before = log.tail();
  start_working("first");
  later();
  const json::object claimed = claim();
  clock.advance_ms(1);
  complete(claimed, R"("usage":{"cost_microusd":1000000,"tokens":10,"turns":1})");
  later();
  claim();
  later();
  later();
  const auto over_time = [this](const std::string& since, const std::string& spans) {
    return report(R"({"since":")" + since + R"(","spans":)" + spans + "}")
        .at("over_time")
        .as_object();
  };
  const json::object four = over_time(std::to_string(before), "4");
  EXPECT_EQ(number(four, "span_ms"), 600'251);
  EXPECT_EQ(numbers(four, "waiting"), (Numbers{3, 3, 2, 1}));
  EXPECT_EQ(numbers(four, "at_work"), (Numbers{0, 1, 1, 1}));
  EXPECT_EQ(numbers(four, "cost_microusd"), (Numbers{0, 1'000'000, 1'000'000, 1'000'000}));
  EXPECT_EQ(number(four, "waiting_now"), 1);
  EXPECT_EQ(number(four, "at_work_now"), 1);
  const json::object last = over_time("15m", "1");
  EXPECT_EQ(numbers(last, "waiting"), (Numbers{1})) << "nothing changed since";
  EXPECT_EQ(numbers(last, "at_work"), (Numbers{1})) << "claimed long before";
  EXPECT_EQ(numbers(last, "cost_microusd"), (Numbers{0}));
}

// Nothing else in the period says that it was under way.
TEST_F(RpcReport, AnAttemptFromBeforeWorksUntilItIsCanceled) {  // O3 C1
  using Numbers = std::vector<std::int64_t>;
  const std::string waiting = start_working("waits for nobody");
  const json::object claimed = claim();
  clock.advance_ms(1000);
  const Position before = log.tail();
  const std::string never_claimed = start_working("is never claimed");
  EXPECT_EQ(claimed.at("run_id"), json::value(waiting));
  clock.advance_ms(600'000);
  for (const std::string& run : {waiting, never_claimed}) {
    EXPECT_EQ(code_of(ask("run.cancel", R"({"run_id":")" + run + "\"}")), "");
  }
  clock.advance_ms(600'000);
  const json::object shown = report(R"({"since":")" + std::to_string(before) + R"(","spans":4})");
  EXPECT_EQ(number(shown.at("attempts").as_object(), "worked_ms"), 601'000);
  const json::object& over_time = shown.at("over_time").as_object();
  EXPECT_EQ(numbers(over_time, "at_work"), (Numbers{1, 1, 1, 0}));
  EXPECT_EQ(numbers(over_time, "waiting"), (Numbers{1, 1, 1, 0}));
}

TEST_F(RpcReport, ThePeriodBeginsAtATimeAnAgeOrAfterAPosition) {  // O3
  start_working("old");
  work("build");
  clock.advance_ms(2 * 3'600'000);
  const Position before = log.tail();
  start_working("new");
  const auto started_runs = [](const json::object& shown) {
    return number(shown.at("runs").as_object(), "started");
  };
  EXPECT_EQ(started_runs(report()), 2);
  EXPECT_EQ(started_runs(since("1h")), 1);
  EXPECT_EQ(started_runs(since(std::to_string(before))), 1);
  EXPECT_EQ(started_runs(since("0")), 2);
  EXPECT_EQ(started_runs(since("2023-11-14T23:00:00Z")), 1);
  EXPECT_EQ(started_runs(since("1970-01-01T00:00:00Z")), 2);
  EXPECT_EQ(started_runs(since("100000d")), 2) << "older than the log is the log's beginning";
  const json::object short_one = since("1h");
  EXPECT_EQ(short_one.at("from").to_number<Position>(), before + 1);

  EXPECT_EQ(code_of(ask("report.get", R"({"since":"yesterday"})")), "INVALID_PARAMS");
  EXPECT_EQ(code_of(ask("report.get", R"({"since":""})")), "INVALID_PARAMS");
  EXPECT_EQ(code_of(ask("report.get", R"({"since":"2100-01-01T00:00:00Z"})")), "INVALID_PARAMS")
      << "later than now";
  EXPECT_EQ(code_of(ask("report.get", R"({"since":"1000000"})")), "POSITION_NOT_FOUND");
}

// Only the part of an attempt's work that lies within the period counts.
TEST_F(RpcReport, WorkIsCountedWithinThePeriod) {  // O3
  start_working("long");
  claim();
  clock.advance_ms(30 * 60'000);
  take(NoteClockJump{1, 1, "a record in between"});
  clock.advance_ms(10 * 60'000);
  const auto worked = [](const json::object& shown) {
    return number(shown.at("attempts").as_object(), "worked_ms");
  };
  EXPECT_EQ(worked(report()), 40 * 60'000);
  EXPECT_EQ(worked(since("5m")), 5 * 60'000) << "it is under way since before";
  const json::object jumped = report();
  EXPECT_EQ(jumped.at("clock_jumps").to_number<int>(), 1);
}

TEST_F(RpcReport, ACrashSaysWhatItCost) {  // O3
  take(StartServer{"v"});
  start_working("lost");
  claim();
  start_working("outlives it");
  const json::object outliving = claim();
  clock.advance_ms(20 * 60'000);
  take(NoteClockJump{1, 1, "the last record before the crash"});
  clock.advance_ms(5'000);
  take(StartServer{"v"});
  const std::string token = json::serialize(outliving.at("token"));
  const std::string run_id(outliving.at("run_id").as_string());
  const auto beat = ask("station.heartbeat", R"({"run_id":")" + run_id +
                                                 R"(","station":"build","token":)" + token + "}");
  EXPECT_EQ(code_of(beat), "") << json::serialize(beat);
  // The lease of the other one ends.
  for (const auto& [id, run] : engine.world().runs) {
    if (run->goal != "lost") continue;
    ExpireLease expired;
    expired.run_id = id;
    expired.token = run->attempt->token;
    expired.lease_renewed_at = run->attempt->lease_renewed_at;
    take(expired);
    break;
  }
  const json::object shown = report();
  const json::array& crashes = shown.at("crashes").as_array();
  ASSERT_EQ(crashes.size(), 1U);
  const json::object& crash = crashes[0].as_object();
  EXPECT_EQ(number(crash, "down_ms_max"), 5'000);
  EXPECT_EQ(number(crash, "attempts_lost"), 1);
  EXPECT_EQ(number(crash, "lost_ms"), 20 * 60'000);
  EXPECT_EQ(shown.at("crash_totals").at("crashes").to_number<int>(), 1);
}

TEST_F(RpcReport, CardsCount) {  // O3
  EXPECT_EQ(code_of(put("web")), "");
  const std::string card_id = submit("Fix it");
  ask("card.block", R"({"card_id":")" + card_id + R"(","reason":"wait for Ann"})");
  const json::object shown = report();
  EXPECT_EQ(number(shown.at("cards").as_object(), "submitted"), 1);
  EXPECT_EQ(number(shown.at("cards").as_object(), "blocked"), 1);
  const json::object& waiting = shown.at("waiting").as_object();
  EXPECT_EQ(waiting.at("items").as_array().at(0).at("kind"), "blocked_card");
  EXPECT_EQ(waiting.at("items").as_array().at(0).at("subject"), "Fix it");
}

}  // namespace
}  // namespace signalbox
