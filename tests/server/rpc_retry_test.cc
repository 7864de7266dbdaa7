// Tests `run.retry` and `run.why` over the dispatcher; commits finish when the test says so.
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>

#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

namespace json = boost::json;

class RpcRetryTest : public testing::Test {
 protected:
  void settle() { site.settle(); }
  json::object ask(const std::string& method, const std::string& params) {
    return site.ask(method, params);
  }
  json::object result(const std::string& method, const std::string& params = "{}") {
    const auto answer = ask(method, params);
    EXPECT_TRUE(answer.contains("result")) << method << json::serialize(answer);
    return answer.contains("result") ? answer.at("result").as_object() : json::object{};
  }
  std::string refusal(const std::string& method, const std::string& params) {
    return code_of(ask(method, params));
  }
  static std::string text(const json::object& object, const char* key) {
    return std::string(object.at(key).as_string());
  }
  // Starts a run with one worker station; `pipeline` is the pipeline's name.
  std::string start(const std::string& pipeline = "one", const std::string& more = "") {
    return text(
        result(
            "run.start",
            R"({"goal":"g","pipeline":{"name":")" + pipeline +
                R"(","station":[{"name":"a"},{"name":"b","retry":{"strategies":["original","decomposed"]}}]})" +
                more + "}"),
        "run_id");
  }
  void complete(const std::string& run, const std::string& station, const std::string& outcome) {
    const auto claim = result("station.claim", R"({"worker":"w","run_id":")" + run + "\"}");
    const auto done =
        result("station.complete",
               R"({"run_id":")" + run + R"(","station":")" + station + R"(","token":)" +
                   json::serialize(claim.at("claim").at("token")) + R"(,"outcome":")" + outcome +
                   R"(","error_class":"config","error_code":"X","error_message":"it broke"})");
    EXPECT_TRUE(done.contains("run_status"));
  }
  std::string failed_run(const std::string& pipeline = "one", const std::string& more = "") {
    const std::string run = start(pipeline, more);
    complete(run, "a", "succeeded");
    complete(run, "b", "failed");
    return run;
  }
  static std::string about(const std::string& run, const std::string& more = "") {
    return R"({"run_id":")" + run + "\"" + more + "}";
  }

  RpcSite site;
};

TEST_F(RpcRetryTest, TakesTheFailedStationUpAgain) {  // S11
  const std::string run = failed_run();
  const auto retried = result("run.retry", about(run, R"(,"reason":"fixed")"));
  EXPECT_EQ(text(retried, "status"), "running");
  EXPECT_EQ(text(retried, "station"), "b");
  EXPECT_EQ(text(retried, "station_status"), "pending");
  EXPECT_EQ(text(retried, "strategy"), "original");
  const auto seen = result("run.get", about(run)).at("run").as_object();
  EXPECT_EQ(text(seen, "status"), "running");
  EXPECT_FALSE(seen.contains("ended_at"));
  EXPECT_EQ(text(seen.at("retries").at(0).as_object(), "reason"), "fixed");
  complete(run, "b", "succeeded");
  EXPECT_EQ(text(result("run.get", about(run)).at("run").as_object(), "status"), "succeeded");
  EXPECT_EQ(refusal("run.retry", about(run)), "RUN_NOT_FAILED");
}

TEST_F(RpcRetryTest, OnlyAFailedRunIsRetried) {
  EXPECT_EQ(refusal("run.retry", about("00000000-0000-0000-0000-000000000077")), "RUN_NOT_FOUND");
  const std::string open = start();
  const auto answer = ask("run.retry", about(open));
  EXPECT_EQ(code_of(answer), "RUN_NOT_FAILED");
  EXPECT_EQ(answer.at("error").at("data").at("details").at("status"), "queued");
  EXPECT_EQ(answer.at("error").at("data").at("next_commands").at(0).as_string(),
            "signalbox run why " + open);
  result("run.cancel", about(open));
  EXPECT_EQ(refusal("run.retry", about(open)), "RUN_NOT_FAILED");
}

TEST_F(RpcRetryTest, OfTwoAtTheSameMomentOneWins) {  // S11
  const std::string run = failed_run();
  const std::string line =
      R"({"jsonrpc":"2.0","id":1,"method":"run.retry","params":)" + about(run) + "}";
  site.send(line);
  site.send(line);
  settle();
  EXPECT_TRUE(site.peer->next().contains("result"));
  EXPECT_EQ(code_of(site.peer->next()), "RUN_NOT_FAILED");
}

TEST_F(RpcRetryTest, TheSameCommandIdGivesTheFirstResult) {  // P3
  const std::string run = failed_run();
  const std::string params = about(run, R"(,"command_id":"again")");
  const auto first = result("run.retry", params);
  complete(run, "b", "failed");
  const auto second = result("run.retry", params);
  EXPECT_TRUE(second.at("replayed").as_bool());
  EXPECT_EQ(second.at("retried_position"), first.at("retried_position"));
  EXPECT_EQ(text(result("run.get", about(run)).at("run").as_object(), "status"), "failed");
}

TEST_F(RpcRetryTest, TheIdempotencyKeyLeadsToTheRunAgain) {  // S2
  const std::string key = R"(,"idempotency_key":"nightly")";
  const std::string run = failed_run("one", key);
  result("run.retry", about(run));
  EXPECT_EQ(start("one", key), run);
}

TEST_F(RpcRetryTest, WorksWhenTheWorldHasForgottenItsPipeline) {  // S11
  const std::string run = failed_run("special");
  for (std::size_t number = 0; number <= limits::idle_pipelines_max; ++number) {
    result("run.cancel", about(start("p" + std::to_string(number))));
  }
  EXPECT_LE(site.engine.world().pipelines.size(), limits::idle_pipelines_max);
  const auto retried = result("run.retry", about(run));
  EXPECT_EQ(text(retried, "station"), "b");
  complete(run, "b", "succeeded");
}

TEST_F(RpcRetryTest, TakesAStrategyOfItsStationOnly) {
  const std::string run = failed_run();
  EXPECT_EQ(refusal("run.retry", about(run, R"(,"strategy":"simplified")")), "INVALID_PARAMS");
  EXPECT_EQ(text(result("run.retry", about(run, R"(,"strategy":"decomposed","max_retries":0)")),
                 "strategy"),
            "decomposed");
}

TEST_F(RpcRetryTest, BeforeItsCommitIsDurableNothingIsTold) {  // P1
  const std::string run = failed_run();
  site.send(R"({"jsonrpc":"2.0","id":1,"method":"run.retry","params":)" + about(run) + "}");
  ASSERT_TRUE(site.projector.catch_up().has_value());
  site.engine.flush();
  EXPECT_TRUE(site.peer->lines.empty());
  site.finish();
  EXPECT_TRUE(site.peer->next().contains("result"));
}

// After a restart the state is the fold of the log, with or without the event.
TEST_F(RpcRetryTest, ACrashBeforeOrAfterTheEventLeavesOneOrTheOther) {
  const std::string run = failed_run();
  const Position before = site.log.tail();
  result("run.retry", about(run));
  for (const Position tail : {before, site.log.tail()}) {
    World world;
    ASSERT_TRUE(site.log.scan(1, tail, [&world](Record&& record) {
      evolve(world, record);
      return true;
    }));
    const RunId id = *parse_uuid(run);
    EXPECT_EQ(world.find_run(id) != nullptr, tail != before);
    EXPECT_EQ(world.ended_runs.find(id) != nullptr, tail == before);
  }
}

TEST_F(RpcRetryTest, ADecisionIsAboutTheStationThatItNames) {  // S11
  const std::string run = text(result("run.start", R"({"goal":"g","pipeline":{"name":"p","station":[
      {"name":"one","executor":"approval"},{"name":"two","executor":"approval"}]}})"),
                               "run_id");
  const auto commands = [&] {
    return result("run.why", about(run)).at("reasons").at(0).at("next_commands").as_array();
  };
  const auto approval = [&](const std::string& station) {
    const Position asked = site.engine.world().find_run(*parse_uuid(run))->asked_at;
    return json::value("signalbox run resume " + run + " --station " + station +
                       " --decision approve --asked " + std::to_string(asked));
  };
  EXPECT_EQ(commands().at(0), approval("one"));
  const std::string seen_one = about(run, R"(,"decision":"approve","station":"one")");
  EXPECT_EQ(text(result("run.resume", seen_one), "status"), "running");
  const json::object error = ask("run.resume", seen_one).at("error").at("data").as_object();
  EXPECT_EQ(error.at("code"), "NOT_WAITING_FOR_APPROVAL");
  EXPECT_EQ(error.at("details").at("station"), "two");
  EXPECT_EQ(error.at("details").at("decided_station"), "one");
  EXPECT_EQ(commands().at(0), approval("two"));
  result("run.resume", about(run, R"(,"decision":"approve","station":"two")"));
  EXPECT_EQ(text(result("run.get", about(run)).at("run").as_object(), "status"), "succeeded");
}

TEST_F(RpcRetryTest, AResumeWithAPartOfABudgetKeepsTheRest) {  // S11
  const std::string run = start("one", R"(,"budget":{"turns":3,"tokens":500})");
  EXPECT_EQ(text(result("run.resume", about(run, R"(,"budget":{"turns":9})")), "status"), "queued");
  const auto seen = result("run.get", about(run)).at("run").as_object();
  EXPECT_EQ(seen.at("budget").at("turns"), 9);
  EXPECT_EQ(seen.at("budget").at("tokens"), 500);
  EXPECT_EQ(seen.at("budget").at("cost_microusd"), 0);
  const auto again = result("run.resume", about(run));
  EXPECT_FALSE(again.at("changed").as_bool());
}

class RpcWhyTest : public RpcRetryTest {
 protected:
  json::object why(const std::string& run) { return result("run.why", about(run)); }
  json::object reason(const std::string& run) {
    const auto answer = why(run);
    EXPECT_FALSE(answer.at("reasons").as_array().empty());
    return answer.at("reasons").at(0).as_object();
  }
};

TEST_F(RpcWhyTest, NamesTheEventThatMadeItSo) {  // S12
  const std::string other = start();
  const std::string run = start();
  const auto waiting = reason(run);
  EXPECT_EQ(text(waiting, "reason"), "no_worker");
  EXPECT_EQ(text(waiting, "cause_event"), "RunStarted");
  EXPECT_NE(text(waiting, "text").find("1 other was ready before it"), std::string::npos)
      << text(waiting, "text");
  EXPECT_EQ(waiting.at("cause_position"),
            result("run.get", about(run)).at("run").at("started_position"));
}

TEST_F(RpcWhyTest, SaysThatThereIsNoSpace) {  // S12
  const std::string run = start();
  site.send(R"({"jsonrpc":"2.0","id":1,"method":"run.pause","params":)" + about(run) + "}");
  site.engine.flush();
  site.finish(AppendStatus::full);
  EXPECT_EQ(code_of(site.peer->next()), "STORAGE_FULL");
  const auto full = reason(run);
  EXPECT_EQ(text(full, "reason"), "storage_full");
  EXPECT_EQ(full.at("cause_position").to_number<Position>(), site.engine.durable_position());
  EXPECT_EQ(text(full, "cause_event"), "RunStarted");
  EXPECT_FALSE(why(run).at("moving").as_bool());
}

TEST_F(RpcWhyTest, OfAnUnknownRunIsRefused) {
  EXPECT_EQ(refusal("run.why", about("00000000-0000-0000-0000-000000000077")), "RUN_NOT_FOUND");
}

}  // namespace
}  // namespace signalbox
