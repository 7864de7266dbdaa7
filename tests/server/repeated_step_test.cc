// Tests that a step requested again, and a run resumed again, with the same command id get the
// first response, whatever happened since.
#include <gtest/gtest.h>

#include <string>

#include <boost/json/serialize.hpp>

#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

namespace json = boost::json;

class RepeatedStep : public ::testing::Test, protected RpcSite {
 protected:
  void SetUp() override {
    run = start_run(R"({"goal":"g","pipeline":{"name":"p",
        "station":[{"name":"deep","executor":"deep_work","retry":{"max_retries":0},
                    "deep_work":{"max_retries":1}}]}})");
    take(DispatchStation{*parse_uuid(run), ids.next_span_id()});
    token = engine.world().find_run(*parse_uuid(run))->attempt->token;
    expect_accepted("plan.set_exploration",
                    {{"station", "deep"}, {"token", token}, {"files", {"a.cc"}}});
    expect_accepted("plan.set", {{"station", "deep"},
                                 {"token", token},
                                 {"steps",
                                  {{{"id", "one"}, {"description", "first"}},
                                   {{"id", "two"}, {"dependencies", {"one"}}}}}});
    first = next("first");
    ASSERT_EQ(first.at("step"), "one");
  }
  void expect_accepted(const std::string& method, json::object params) {
    params["run_id"] = run;
    ASSERT_EQ(code_of(ask(method, json::serialize(params))), "") << method;
  }
  json::value next(const std::string& command_id) {
    const auto answer = ask("step.next", R"({"worker":"w","command_id":")" + command_id + R"("})");
    return answer.at("result").at("step");
  }
  void fail(const json::value& held) {
    expect_accepted("step.fail", {{"step", held.at("step")},
                                  {"token", held.at("token")},
                                  {"error_class", "transient"},
                                  {"error_code", "FELL"}});
  }

  std::string run;
  Token token = 0;
  json::value first;
};

TEST_F(RepeatedStep, IsTheSameWhileItIsUnderWay) {  // P3
  EXPECT_EQ(first.at("description"), "first");
  EXPECT_EQ(first.at("previous_error"), nullptr);
  EXPECT_EQ(first.at("exploration").at("files"), json::array{"a.cc"});
  EXPECT_EQ(next("first"), first);
}

TEST_F(RepeatedStep, DoesntTellHowItsOwnAttemptEnded) {  // P3
  fail(first);
  EXPECT_EQ(next("first"), first);
  const json::value second = next("second");
  EXPECT_EQ(second.at("attempt"), 2);
  EXPECT_EQ(second.at("previous_error"), "FELL");
  EXPECT_EQ(next("first"), first);
  expect_accepted("step.complete", {{"step", "one"}, {"token", second.at("token")}});
  EXPECT_EQ(next("first"), first);
  EXPECT_EQ(next("second"), second);
}

TEST_F(RepeatedStep, IsWholeAfterItsPlanWasDropped) {
  expect_accepted("plan.reset", {});
  EXPECT_EQ(next("first"), first);
}

TEST_F(RepeatedStep, IsWholeAfterTheRunHasEnded) {
  expect_accepted("run.cancel", {});
  take(ConfirmCancel{*parse_uuid(run), token});
  ASSERT_TRUE(engine.world().runs.empty());
  ASSERT_LT(projector.applied(), log.tail()) << "the read models are behind";
  EXPECT_EQ(next("first"), first);
}

class RepeatedResume : public ::testing::Test, protected RpcSite {};

TEST_F(RepeatedResume, TellsTheStatusOfThatMoment) {
  const auto started = ask("run.start", R"({"goal":"g","budget":{"turns":1}})");
  const std::string run(started.at("result").at("run_id").as_string());
  const std::string raise =
      R"({"run_id":")" + run + R"(","budget":{"turns":2},"command_id":"raise"})";
  const json::value first = ask("run.resume", raise).at("result").at("status");
  EXPECT_EQ(first, "queued");
  ASSERT_TRUE(engine.begin({"signalbox", {}, {}})
                  .apply(DispatchStation{*parse_uuid(run), ids.next_span_id()}));
  commit_all();
  EXPECT_EQ(ask("run.resume", raise).at("result").at("status"), first);
}

}  // namespace
}  // namespace signalbox
