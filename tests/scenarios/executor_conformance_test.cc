// What every executor of a station guarantees, with the real server: its time is bounded and a
// timeout is typed, its output is bounded, and a cancel ends it. S5, S9, S11, W1. (With kills:
// tests/crash/executor_kill_test.cc; the executors alone: tests/server/executor_conformance_test.)
#include <gtest/gtest.h>

#include "domain/limits.h"
#include "server/platform/process_table.h"
#include "tests/crash/station_site.h"
#include "tests/scenarios/lock_fixture.h"

namespace signalbox {
namespace {

namespace json = boost::json;
using test::Connection;
using test::OutsideWorker;
using test::StationSite;
using test::Work;

class ExecutorConformance : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    server_.start();
    if (site_.is_worker()) worker_.emplace(site_, server_.socket());
  }
  std::optional<json::object> answer_to(const char* method, const json::object& params) {
    return test::answer_of(server_.socket(), method, params);
  }
  json::object call(const char* method, const json::object& params) {
    return test::result_of(answer_to(method, params));
  }
  std::string start(Work work, const json::object& more = {}) {
    return std::string(call("run.start", site_.run_of(work, more)).at("run_id").as_string());
  }
  json::object attempt(const std::string& run_id) {
    return call("run.get", {{"run_id", run_id}})
        .at("run")
        .at("stations")
        .at(0)
        .at("attempts")
        .at(0)
        .as_object();
  }
  bool ends_as(const std::string& run_id, const char* status) {
    std::string seen;
    const bool ended = eventually([&] {
      seen = call("run.get", {{"run_id", run_id}}).at("run").at("status").as_string().c_str();
      return seen == "succeeded" || seen == "failed" || seen == "canceled";
    });
    EXPECT_EQ(seen, status) << server_.messages();
    return ended;
  }
  std::size_t count(const std::string& run_id, const char* type) {
    return call("events.read", {{"run_id", run_id}, {"types", {type}}})
        .at("events")
        .as_array()
        .size();
  }

  RealServer server_{{"--watchdog-interval", "100ms"}};
  TemporaryDirectory scratch_;
  StationSite site_{scratch_.path(), GetParam()};
  std::optional<OutsideWorker> worker_;
};

INSTANTIATE_TEST_SUITE_P(Each, ExecutorConformance, ::testing::ValuesIn(test::every_executor),
                         [](const auto& each) { return each.param; });

TEST_P(ExecutorConformance, ATimeoutIsTyped) {  // W1, S5
  const std::string run_id = start(Work::until_let_go, {{"timeout", "700ms"}});
  ASSERT_TRUE(ends_as(run_id, "failed"));
  const json::object ended = attempt(run_id);
  EXPECT_EQ(ended.at("outcome"), "timeout");
  EXPECT_EQ(ended.at("error").at("code"), "TIMEOUT");
  EXPECT_EQ(ended.at("error").at("error_class"), "transient");
  EXPECT_LE(site_.executions(), 1U) << "none if a slow machine needs all the time to begin";
  if (site_.is_remote()) {
    EXPECT_TRUE(eventually([&] { return site_.endpoint().was_canceled("call-1"); }));
  }
  EXPECT_TRUE(
      eventually([&] { return processes_with_environment("SIGNALBOX_RUN_ID=" + run_id).empty(); }));
}

TEST_P(ExecutorConformance, ACancelEndsItAndIsConfirmed) {  // S5, S11
  const std::string run_id = start(Work::until_let_go);
  ASSERT_TRUE(eventually([&] { return site_.executions() == 1; }));
  const json::object held = attempt(run_id);
  call("run.cancel", {{"run_id", run_id}});
  ASSERT_TRUE(ends_as(run_id, "canceled"));
  if (site_.is_worker()) {  // we don't end an outside worker; it is refused from now on
    const auto refused = answer_to("station.complete", {{"run_id", run_id},
                                                        {"station", "work"},
                                                        {"token", held.at("token")},
                                                        {"outcome", "succeeded"}});
    ASSERT_TRUE(refused);
    EXPECT_EQ(test::error_code_of(*refused), "RUN_TERMINAL");
    return;
  }
  EXPECT_EQ(count(run_id, "CancelConfirmed"), 1U);
  EXPECT_EQ(count(run_id, "CancelEscaped"), 0U);
  if (site_.is_remote()) {
    EXPECT_TRUE(site_.endpoint().was_canceled("call-1"));
  } else {
    // The supervisor confirms the end, so it is the last process to exit.
    EXPECT_TRUE(eventually(
        [&] { return processes_with_environment("SIGNALBOX_RUN_ID=" + run_id).empty(); }));
  }
}

TEST_P(ExecutorConformance, WhatItSaysIsBounded) {  // S5, S9
  if (site_.is_worker()) {                          // a worker's output isn't cut but refused
    site_.begin_here();
    const std::string run_id = start(Work::until_let_go);
    ASSERT_TRUE(eventually([&] { return count(run_id, "StationClaimed") == 1; }));
    const auto refused =
        answer_to("station.complete", {{"run_id", run_id},
                                       {"station", "work"},
                                       {"token", attempt(run_id).at("token")},
                                       {"outcome", "succeeded"},
                                       {"logs_inline", std::string(300'000, 'x')}});
    ASSERT_TRUE(refused);
    EXPECT_EQ(test::error_code_of(*refused), "LIMIT_EXCEEDED");
    return;
  }
  const std::string run_id = start(Work::flooding);
  ASSERT_TRUE(ends_as(run_id, "succeeded"));
  const json::object ended = attempt(run_id);
  const std::string logs(ended.at("logs_inline").as_string());
  EXPECT_LE(logs.size(), limits::logs_inline_bytes_max);
  // The output that git prints of a hook, and a deep_work worker of its commands, is already short.
  if (GetParam() == "process" || GetParam() == "coderunner" || site_.is_remote()) {
    EXPECT_NE(logs.find(" 3000"), std::string::npos)
        << "its size isn't told: " << logs.substr(0, 200);
  }
  for (const json::value& artifact : ended.at("artifacts").as_array()) {
    if (artifact.at("name") != "runner_logs_excerpt") continue;
    EXPECT_LE(artifact.at("bytes").to_number<std::uint64_t>(), limits::logs_inline_bytes_max);
  }
}

}  // namespace
}  // namespace signalbox
