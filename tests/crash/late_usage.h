// Attempts that have ended without a word of what they have used up, at a real server, and what is
// sent to tell it afterwards.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

#include "server/executors/executor.h"
#include "server/text/described_json.h"
#include "tests/eventually.h"

namespace signalbox::test {

struct LateUsageCall {
  std::string run_id;
  std::string method;
  boost::json::object params;
};

// Calls a method of the server and returns its result; empty if it has none.
using ServerCall =
    std::function<boost::json::object(const std::string& method, const boost::json::object&)>;

// Returns whether the run has one event of this type.
inline bool has_one(const ServerCall& call, const std::string& run_id, const std::string& type) {
  const auto page = call("events.read", {{"run_id", run_id}, {"types", {type}}, {"limit", 2}});
  return page.contains("events") && page.at("events").as_array().size() == 1;
}

// Starts a run with one station, `work`, of these fields, and others of the pipeline. Returns its
// id.
inline std::string start_run_of_work(const ServerCall& call, boost::json::object station,
                                     boost::json::object pipeline) {
  station["name"] = "work";
  pipeline["name"] = "p";
  pipeline["station"] = boost::json::array{std::move(station)};
  return std::string(
      call("run.start", {{"goal", "g"}, {"pipeline", pipeline}}).at("run_id").as_string());
}

// Has an outside worker claim a station, and lose its lease.
inline LateUsageCall lose_worker(const ServerCall& call, const Usage& used) {
  const std::string id =
      start_run_of_work(call, {{"retry", {{"max_retries", 3}, {"backoff", "1h"}}}}, {});
  const auto claimed = call("station.claim", {{"worker", "w"}, {"run_id", id}, {"lease_ms", 10}});
  EXPECT_TRUE(claimed.contains("claim"));
  EXPECT_TRUE(eventually([&] { return has_one(call, id, "StationAttemptFailed"); }));
  if (::testing::Test::HasFailure()) return {};
  return {id,
          "station.complete",
          {{"run_id", id},
           {"station", "work"},
           {"token", claimed.at("claim").at("token")},
           {"outcome", "succeeded"},
           {"usage", to_json(used)},
           {"command_id", "end-1"}}};
}

// Has a runner take a job, and evicts it.
inline LateUsageCall lose_runner(const ServerCall& call, const Usage& used) {
  const auto registered = call("runner.register", {{"name", "r"}});
  const boost::json::value& runner = registered.at("runner");
  int number = 0;
  const auto report = [&] {
    return call("runner.exchange", {{"runner", runner},
                                    {"key", registered.at("key")},
                                    {"start", 1},
                                    {"number", ++number},
                                    {"instance", "i"},
                                    {"labels", boost::json::array{"gpu"}},
                                    {"slots", 1},
                                    {"lease_ms", 600'000}});
  };
  (void)report();
  const std::string id = start_run_of_work(call,
                                           {{"executor", "process"},
                                            {"command", boost::json::array{"true"}},
                                            {"retry", {{"max_retries", 0}}}},
                                           {{"runs_on", boost::json::array{"gpu"}}});
  EXPECT_TRUE(eventually([&] {
    const auto answer = report();
    return answer.contains("orders") && !answer.at("orders").as_array().empty();
  }));
  (void)call("runner.evict", {{"runner", runner}});
  EXPECT_TRUE(eventually([&] { return has_one(call, id, "RunFailed"); }));
  JobResult result;
  result.usage = used;
  return {id,
          "runner.finish",
          {{"runner", runner},
           {"key", registered.at("key")},
           {"job_id", id + "-work-1"},
           {"result", to_json(result)}}};
}

// Returns what the answer to such a call says of the usage; "" if it says nothing.
inline std::string said_of_usage(const boost::json::value& answer) {
  for (const char* place : {"/result/usage", "/error/data/details/usage"}) {
    boost::system::error_code absent;
    if (const auto* said = answer.find_pointer(place, absent)) {
      return std::string(said->as_string());
    }
  }
  return {};
}

}  // namespace signalbox::test
