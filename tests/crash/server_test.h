// A test fixture: a server of the test's own; each request uses a new connection.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/crash/connection.h"
#include "tests/crash/server_process.h"

namespace signalbox::test {

class ServerTest : public ::testing::Test {
 protected:
  // Takes additional options for `signalbox serve`. Starts nothing yet.
  explicit ServerTest(std::vector<std::string> options = {})
      : server_(scratch_.path() / "data", std::move(options)) {}

  void start() { ASSERT_TRUE(server_.start()) << server_.log(); }
  void crash_and_start() {
    server_.kill();
    start();
  }

  // Returns a result or an error; nullopt if there is no answer.
  std::optional<boost::json::object> answer_to(const char* method,
                                               const boost::json::object& params = {}) const {
    return answer_of(server_.socket(), method, params);
  }
  // Returns the result; fails the test if there is none.
  boost::json::object call(const char* method, const boost::json::object& params = {}) const {
    return result_of(answer_to(method, params));
  }
  // Returns the error's code; "" for a result.
  std::string refusal(const char* method, const boost::json::object& params = {}) const {
    const auto answer = answer_to(method, params);
    return answer ? error_code_of(*answer) : "no answer";
  }

  boost::json::array events(boost::json::object params = {}) const {
    params["limit"] = 1000;
    return call("events.read", params).at("events").as_array();
  }
  boost::json::array events(const char* type) const {
    return events(boost::json::object{{"types", {type}}});
  }
  std::size_t count(const std::string& run_id, const char* type) const {
    return events(boost::json::object{{"run_id", run_id}, {"types", {type}}}).size();
  }
  boost::json::object run(const std::string& run_id) const {
    return call("run.get", {{"run_id", run_id}}).at("run").as_object();
  }
  // Starts a run with these params and returns its id.
  std::string start_run(const boost::json::object& params) const {
    return std::string(call("run.start", params).at("run_id").as_string());
  }

  TemporaryDirectory scratch_;
  ServerProcess server_;
};

}  // namespace signalbox::test
