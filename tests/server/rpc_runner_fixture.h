// A runner that is registered at a service, for tests of `runner.*` over the protocol.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include <boost/json/serialize.hpp>

#include "server/limits.h"
#include "tests/server/rpc_site.h"

namespace signalbox {

class RpcRunners : public RpcSite, public ::testing::Test {
 protected:
  RpcRunners() {
    const boost::json::object given = call("runner.register", {{"name", "build1"}});
    runner = std::string(given.at("runner").as_string());
    key = std::string(given.at("key").as_string());
  }

  boost::json::object answer_to(const std::string& method, const boost::json::object& params) {
    return ask(method, boost::json::serialize(params));
  }
  boost::json::object call(const std::string& method, const boost::json::object& params) {
    const boost::json::object answer = answer_to(method, params);
    EXPECT_EQ(code_of(answer), "") << boost::json::serialize(answer);
    const boost::json::value* result = answer.if_contains("result");
    return result == nullptr ? boost::json::object() : result->as_object();
  }
  std::string refusal(const std::string& method, const boost::json::object& params) {
    return code_of(answer_to(method, params));
  }
  // Returns the params of a method of this runner, with `more`.
  [[nodiscard]] boost::json::object as_runner(const boost::json::object& more = {}) const {
    boost::json::object params{{"runner", runner}, {"key", key}};
    for (const auto& each : more) params[each.key()] = each.value();
    return params;
  }
  [[nodiscard]] boost::json::object report(const boost::json::object& more = {}) {
    boost::json::object params = as_runner({{"start", 1},
                                            {"number", ++number},
                                            {"instance", "a"},
                                            {"labels", boost::json::array{"gpu"}},
                                            {"slots", 2},
                                            {"lease_ms", limits::runner_lease_ms_default}});
    for (const auto& each : more) params[each.key()] = each.value();
    return params;
  }

  // Starts a run whose job is given to this runner, and returns the job's id.
  std::string wanted_job() {
    const std::string run_id = start_run(
        R"({"goal":"g","pipeline":{"name":"p","station":[{"name":"go","executor":"process","command":["true"]}]}})");
    take(DispatchStation{*parse_uuid(run_id), ids.next_span_id(), {}, runner});
    return std::string(engine.world().find_run(*parse_uuid(run_id))->attempt->job_id);
  }

  std::string runner;
  std::string key;
  int number = 0;
};

}  // namespace signalbox
