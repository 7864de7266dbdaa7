// Tests that a repeated claim gets its first response, whatever became of the attempt: a worker
// that lost the response must get the same one.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <boost/json/serialize.hpp>

#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

namespace json = boost::json;

class RepeatedClaim : public ::testing::Test, protected RpcSite {
 protected:
  void SetUp() override {
    run = start_run(R"({"goal":"g","input":{"a":1},"pipeline":{"name":"p",
        "station":[{"name":"only","retry":{"max_retries":1,"backoff":"0s"}}]}})");
    first = claim("first");
  }
  json::value claim(const std::string& command_id) {
    const auto answer =
        ask("station.claim", R"({"worker":"w","command_id":")" + command_id + R"("})");
    return answer.at("result").at("claim");
  }
  // Params of station.complete: the attempt of `held` failed.
  [[nodiscard]] std::string completion(const json::value& held) const {
    return json::serialize(json::object{{"run_id", run},
                                        {"station", "only"},
                                        {"token", held.at("token")},
                                        {"outcome", "failed"},
                                        {"error_class", "transient"},
                                        {"error_code", "FELL"}});
  }
  // Ends the attempt of `held` as failed; the station is ready again if it may be tried again.
  void fail(const json::value& held) {
    ASSERT_EQ(code_of(ask("station.complete", completion(held))), "");
    take(WakeStation{*parse_uuid(run)});
  }

  std::string run;
  json::value first;
};

TEST_F(RepeatedClaim, IsTheSameWhileTheAttemptIsUnderWay) {  // P3
  EXPECT_EQ(first.at("goal"), "g");
  EXPECT_EQ(first.at("input"), (json::object{{"a", 1}}));
  EXPECT_EQ(first.at("previous"), nullptr);
  EXPECT_EQ(claim("first"), first);
}

TEST_F(RepeatedClaim, DoesntTellHowItsOwnAttemptEnded) {  // P3
  fail(first);
  EXPECT_EQ(claim("first"), first);
  const json::value second = claim("second");
  EXPECT_EQ(second.at("attempt"), 2);
  EXPECT_EQ(second.at("previous"), "FELL");
  EXPECT_EQ(claim("first"), first);
  EXPECT_EQ(claim("second"), second);
}

TEST_F(RepeatedClaim, ReadsThePastOffTheEnginesThread) {  // G7, P3
  fail(first);
  std::vector<std::function<void()>> readings;
  api.log_readers = BlockingPool(
      [&readings](std::function<void()> action) { readings.push_back(std::move(action)); },
      at_once);
  send(request("station.claim", R"({"worker":"w","command_id":"first"})"));
  commit_all();
  EXPECT_TRUE(peer->lines.empty());
  ASSERT_EQ(readings.size(), 1U);
  readings.front()();
  settle();
  EXPECT_EQ(readings.size(), 1U);
  EXPECT_EQ(peer->next().at("result").at("claim"), first);
}

TEST_F(RepeatedClaim, IsWholeAfterTheRunHasEnded) {  // P3
  fail(first);
  const json::value second = claim("second");
  send(request("station.complete", completion(second)));
  commit_all();
  ASSERT_EQ(code_of(peer->next()), "");
  ASSERT_TRUE(engine.world().runs.empty());
  ASSERT_LT(projector.applied(), log.tail()) << "the read models are behind";
  EXPECT_EQ(claim("second"), second);
  EXPECT_EQ(claim("first"), first);
}

TEST_F(RepeatedClaim, KeepsWhatADeferringWorkerNoted) {
  const auto defer = [this](const json::value& held, const char* note) {
    json::object params{{"run_id", run},
                        {"station", "only"},
                        {"token", held.at("token")},
                        {"delay_ms", 0},
                        {"note", note}};
    if (*note == '\0') params.erase("note");
    ASSERT_EQ(code_of(ask("station.defer", json::serialize(params))), "");
    take(WakeStation{*parse_uuid(run)});
  };
  defer(first, "the door is locked");
  const json::value second = claim("second");
  EXPECT_EQ(second.at("previous"), "the door is locked");
  defer(second, "");  // adds nothing new
  const json::value third = claim("third");
  EXPECT_EQ(third.at("previous"), "the door is locked");
  fail(third);
  EXPECT_EQ(claim("second"), second);
  EXPECT_EQ(claim("third"), third);
}

// What the failed attempt left is carried over to the retried run.
TEST_F(RepeatedClaim, KnowsWhatARetriedRunTookAlong) {
  fail(first);
  const json::value second = claim("second");
  json::object params{
      {"run_id", run},       {"station", "only"},          {"token", second.at("token")},
      {"outcome", "failed"}, {"error_class", "transient"}, {"error_code", "BROKE"}};
  ASSERT_EQ(code_of(ask("station.complete", json::serialize(params))), "");
  ASSERT_TRUE(engine.world().runs.empty());
  send(R"({"jsonrpc":"2.0","id":1,"method":"run.retry","params":{"run_id":")" + run + R"("}})");
  ASSERT_TRUE(projector.catch_up());
  commit_all();
  ASSERT_EQ(code_of(peer->next()), "");
  const json::value third = claim("third");
  EXPECT_EQ(third.at("attempt"), 3);
  EXPECT_EQ(third.at("previous"), "BROKE");
  fail(third);
  EXPECT_EQ(claim("third"), third);
}

}  // namespace
}  // namespace signalbox
