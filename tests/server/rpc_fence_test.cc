// Tests `run.fence` over the dispatcher: which attempt may continue, and the errors for the others.
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>

#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

namespace json = boost::json;

class RpcFence : public ::testing::Test, protected RpcSite {
 protected:
  void SetUp() override {
    run_id = start_run(R"({"goal":"g","pipeline":{"name":"p","station":[
        {"name":"implement","retry":{"max_retries":3,"backoff":"0s"}}]}})");
    token = engine.world().find_run(*parse_uuid(run_id))->started_at;
  }
  json::object claim() {
    return ask("station.claim", R"({"worker":"w"})").at("result").at("claim").as_object();
  }
  json::object fence(const std::string& more = "", Token with = 0) {
    return ask("run.fence", R"({"run_id":")" + run_id + R"(","token":)" +
                                std::to_string(with == 0 ? token : with) + more + "}");
  }
  static std::string as(const json::object& claim) {
    return R"(,"span_id":)" + json::serialize(claim.at("span_id"));
  }

  std::string run_id;
  Token token = 0;
};

TEST_F(RpcFence, TheAttemptUnderWayMayGoOn) {  // H12
  EXPECT_EQ(fence().at("result").at("status"), "queued");
  const json::object held = claim();
  EXPECT_EQ(fence(as(held)).at("result").at("station"), "implement");
  EXPECT_EQ(code_of(fence(R"(,"attempt_token":)" + json::serialize(held.at("token")))), "");
  EXPECT_EQ(code_of(fence(R"(,"attempt_token":1)")), "STALE_TOKEN");
  EXPECT_EQ(code_of(fence("", token + 1)), "STALE_TOKEN");
}

TEST_F(RpcFence, AnEarlierAttemptMayNot) {  // H12
  const json::object first = claim();
  ask("station.complete", R"({"run_id":")" + run_id + R"(","station":"implement","token":)" +
                              json::serialize(first.at("token")) +
                              R"(,"outcome":"failed","error_class":"transient"})");
  EXPECT_EQ(code_of(fence(as(first))), "STALE_TOKEN") << "no attempt is in progress";
  EXPECT_EQ(code_of(fence()), "");
}

TEST_F(RpcFence, NobodyMayOnceTheRunHasEnded) {  // H12
  ask("run.cancel", R"({"run_id":")" + run_id + "\"}");
  EXPECT_EQ(code_of(fence()), "RUN_TERMINAL");
  run_id = "0190163d-8694-739b-aea5-966c26f8ad91";
  EXPECT_EQ(code_of(fence()), "RUN_NOT_FOUND");
}

}  // namespace
}  // namespace signalbox
