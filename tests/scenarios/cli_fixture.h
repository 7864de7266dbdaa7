// Fixture for the command line against one real server.
#pragma once

#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "tests/crash/connection.h"
#include "tests/eventually.h"
#include "tests/fixtures/file_content.h"
#include "tests/scenarios/real_server.h"
#include "tools/commands/pipeline_file.h"

namespace signalbox {

inline constexpr const char* worker_pipeline = R"(
name = "two"
[[station]]
name = "plan"
[[station]]
name = "implement"
[station.retry]
max_retries = 0
)";

class CliTest : public testing::Test {
 protected:
  // Sets all loops to long intervals, so that the service does nothing by itself between two
  // commands.
  CliTest() : CliTest({"--watchdog-interval", "1h"}) {}
  explicit CliTest(std::vector<std::string> options) : server_(std::move(options)) {}
  void SetUp() override {
    std::filesystem::create_directories(server_.data());
    std::filesystem::permissions(server_.data(), std::filesystem::perms::owner_all);
    // Appends, so that settings which a test wrote before stay.
    std::ofstream(server_.data() / "signalbox.toml", std::ios::app)
        << "[board]\nheartbeat = \"366d\"\nsynthesizer = \"366d\"\nprune = \"366d\"\n";
    server_.start();
    std::ofstream(pipeline()) << worker_pipeline;
  }

  [[nodiscard]] std::string pipeline() const { return (scratch_.path() / "two.toml").string(); }

  // Expects exactly one JSON object and a line break on stdout, whatever the exit code. Returns it.
  static boost::json::object one_object(const Output& output) {
    boost::json::error_code error;
    const boost::json::value value = boost::json::parse(output.out, error);
    EXPECT_FALSE(error) << output.out << output.err;
    EXPECT_TRUE(output.out.ends_with("}\n")) << output.out;
    return value.is_object() ? value.get_object() : boost::json::object{};
  }

  // Runs a command that has to succeed, with --json. Returns its `result`.
  boost::json::object result(std::vector<std::string> words) const {
    words.emplace_back("--json");
    const Output output = server_.cli(std::move(words));
    EXPECT_EQ(output.exit_code, 0) << output.out << output.err;
    const boost::json::object object = one_object(output);
    return object.contains("result") ? object.at("result").as_object() : boost::json::object{};
  }

  // Starts a run of the fixture's pipeline. Returns its id.
  std::string start_run(const std::string& goal) const { return start_run_in(pipeline(), goal); }
  // Starts a run of the pipeline in this file. Returns its id.
  std::string start_run_in(const std::string& file, const std::string& goal) const {
    const auto tables = pipeline_tables(file);
    if (!tables) {
      ADD_FAILURE() << boost::json::serialize(tables.error().error);
      return {};
    }
    return text(rpc("run.start", {{"goal", goal}, {"pipeline", *tables}}), "run_id");
  }
  // Starts a run of the pipeline with this text, with more options of `run start`. Returns its id.
  std::string start_run_of(const std::string& toml, const std::string& goal,
                           const std::vector<std::string>& more = {}) const {
    const std::string file = (scratch_.path() / "pipeline.toml").string();
    write_text(file, toml);
    if (more.empty()) return start_run_in(file, goal);
    std::vector<std::string> words = {"run", "start", goal, "--pipeline", file};
    words.insert(words.end(), more.begin(), more.end());
    return text(result(std::move(words)), "run_id");
  }

  // Claims the run's station. Returns its token.
  std::string claim(const std::string& run_id) const {
    const auto claimed = rpc("station.claim", {{"worker", "w"}, {"run_id", run_id}});
    return boost::json::serialize(claimed.at("claim").as_object().at("token"));
  }

  Output complete(const std::string& run_id, const std::string& station, const std::string& token,
                  const std::string& outcome) const {
    return server_.cli({"station", "complete", "--run", run_id, "--station", station, "--token",
                        token, "--outcome", outcome});
  }

  [[nodiscard]] boost::json::object run(const std::string& run_id) const {
    return rpc("run.get", {{"run_id", run_id}}).at("run").as_object();
  }
  // Returns the run's events of one type, oldest first.
  [[nodiscard]] boost::json::array events(const std::string& run_id,
                                          const std::string& type) const {
    return rpc("events.read",
               {{"run_id", run_id}, {"types", boost::json::array{type}}, {"limit", 1000}})
        .at("events")
        .as_array();
  }
  // Returns the events of one type of the whole log, oldest first.
  [[nodiscard]] boost::json::array all_events(const std::string& type) const {
    return rpc("events.read", {{"types", boost::json::array{type}}, {"limit", 1000}})
        .at("events")
        .as_array();
  }
  // Calls a method over the server's socket, which has to succeed. Returns its result. What a test
  // looks at again and again is asked so: a start of the program takes far longer than the answer.
  boost::json::object rpc(const std::string& method, const boost::json::object& params = {}) const {
    return test::result_of(test::answer_of(server_.socket(), method, params));
  }
  // Returns the error code of a command that was run with --json and refused.
  static std::string code_of(const Output& output) {
    return text(one_object(output).at("error").at("data").as_object(), "code");
  }

  // Runs a shell script in the test's directory.
  [[nodiscard]] Output shell(const std::string& script,
                             const std::vector<std::string>& environment = {}) const {
    return run_process({"sh", "-c", "cd '" + scratch_.path().string() + "' && " + script},
                       environment);
  }
  // Runs a printed command unchanged, in a shell that finds the binary and the server.
  [[nodiscard]] Output paste(const std::string& command) const { return server_.paste(command); }

  // Runs all commands that the message names, and expects them to succeed. Returns how many.
  std::size_t paste_commands_of(const std::string& message) const {
    std::size_t pasted = 0;
    for (std::size_t begin = message.find('`'); begin != std::string::npos; ++pasted) {
      const std::size_t end = message.find('`', begin + 1);
      const std::string command = message.substr(begin + 1, end - begin - 1);
      const Output output = paste(command);
      EXPECT_EQ(output.exit_code, 0) << command << ": " << output.out << output.err;
      begin = end == std::string::npos ? end : message.find('`', end + 1);
    }
    return pasted;
  }

  // Blocks until the condition holds. Fails the test if it doesn't in time.
  static void await(const std::function<bool()>& condition) { ASSERT_TRUE(eventually(condition)); }
  void await_status(const std::string& run_id, const std::string& status) const {
    await([&] { return text(run(run_id), "status") == status; });
  }

  static std::string text(const boost::json::object& object, const char* key) {
    return std::string(object.at(key).as_string());
  }

  RealServer server_;
  TemporaryDirectory scratch_;
};

}  // namespace signalbox
