// A log that is opened beside or instead of the one that it was copied from: the jobs that it has
// in progress were given to the other one, and are executed once.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include <boost/json/parse.hpp>

#include "tests/crash/server_test.h"
#include "tests/eventually.h"
#include "tests/fixtures/file_content.h"

namespace signalbox::test {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

class CopiedLog : public ServerTest {
 protected:
  void SetUp() override { start(); }
  void TearDown() override { std::ofstream(scratch_.path() / "go").put('\n'); }

  static json::object job(const std::string& script) {
    return {{"goal", "once"},
            {"pipeline",
             {{"name", "job"},
              {"station",
               {{{"name", "work"},
                 {"executor", "process"},
                 {"cancel_grace", "200ms"},
                 {"retry", {{"backoff", "10ms"}, {"max_retries", 1}}},
                 {"command", {"sh", "-c", script}}}}}}}};
  }
  // Starts a job that appends a line to `executions` and waits for the file `go`. Blocks until it
  // has begun.
  std::string start_waiting_job() {
    const std::string place = "'" + scratch_.path().string() + "'";
    const std::string run_id =
        start_run(job("D=" + place +
                      "; echo begun >> \"$D/executions\"; while [ -d \"$D\" ] && "
                      "[ ! -e \"$D/go\" ]; do sleep 0.02; done"));
    EXPECT_TRUE(eventually([&] { return executions() == 1; }));
    return run_id;
  }
  [[nodiscard]] std::size_t executions() const {
    return lines_of(scratch_.path() / "executions").size();
  }
  // Copies these files of the data directory to another one, as an operator would.
  [[nodiscard]] fs::path copy_to(const std::string& name,
                                 const std::vector<std::string>& files) const {
    const fs::path target = scratch_.path() / name;
    fs::create_directory(target);
    std::vector<std::string> argv{"cp", "-a"};
    for (const std::string& file : files) argv.push_back((server_.data() / file).string());
    argv.push_back(target.string());
    EXPECT_EQ(run_program(argv).end.exit_code, 0);
    return target;
  }
  static json::object call_to(const ServerProcess& server, const char* method,
                              const json::object& params) {
    return result_of(answer_of(server.socket(), method, params));
  }
  static std::string status_of(const ServerProcess& server, const std::string& run_id) {
    const json::object result = call_to(server, "run.get", {{"run_id", run_id}});
    return std::string(result.at("run").at("status").as_string());
  }
  // Runs a new run there to its end: whatever the start submits was submitted before.
  static void expect_new_runs_go_on(const ServerProcess& server) {
    const json::object begun = call_to(server, "run.start", job("true"));
    const std::string run_id(begun.at("run_id").as_string());
    EXPECT_TRUE(eventually([&] { return status_of(server, run_id) == "succeeded"; }))
        << server.log();
  }
  // Returns the commands of the crash report that decide about the job.
  static std::vector<std::string> commands_for_the_job(const ServerProcess& server) {
    const json::object report = call_to(server, "server.crash_report", {});
    const json::value& item = report.at("report").at("items").at(0);
    EXPECT_EQ(item.at("kind"), "job");
    EXPECT_EQ(item.at("verdict"), "needs_operator") << server.log();
    std::vector<std::string> commands;
    for (const json::value& each : item.at("next_commands").as_array()) {
      commands.emplace_back(each.as_string());
    }
    return commands;
  }
  // Runs a command that the server named, as a person pastes it.
  static ProcessOutput paste(const ServerProcess& server, const std::string& command) {
    return run_program({"sh", "-c",
                        "PATH=$(dirname " SIGNALBOX_BINARY "):$PATH SIGNALBOX_DATA='" +
                            server.data().string() + "' " + command});
  }
};

TEST_F(CopiedLog, AJobOfTheOtherOneWaitsForAPersonWhoSaysThatItIsGone) {  // G11
  const std::string run_id = start_waiting_job();
  server_.kill();
  ServerProcess other(copy_to("d2", {"log", "anchor"}));
  ASSERT_TRUE(other.start()) << other.log();
  const auto commands = commands_for_the_job(other);
  ASSERT_EQ(commands.size(), 2U);
  expect_new_runs_go_on(other);
  EXPECT_EQ(status_of(other, run_id), "running");
  EXPECT_EQ(executions(), 1U);
  const json::object why = call_to(other, "run.why", {{"run_id", run_id}});
  EXPECT_EQ(why.at("moving"), false);
  EXPECT_EQ(why.at("reasons").at(0).at("next_commands").at(0).as_string(), commands.front());

  const ProcessOutput settled = paste(other, commands.front());
  EXPECT_EQ(settled.end.exit_code, 0) << settled.text;
  EXPECT_TRUE(eventually([&] { return executions() == 2; })) << "by a person's word only";
  const ProcessOutput again = paste(other, commands.front());
  EXPECT_NE(again.text.find("STALE_TOKEN"), std::string::npos) << again.text;
  other.kill();
}

TEST_F(CopiedLog, AJobOfTheOtherOneWaitsForAPersonWhoSaysThatItSucceeded) {  // G11
  const std::string run_id = start_waiting_job();
  server_.kill();
  ServerProcess other(copy_to("d2", {"log", "anchor"}));
  ASSERT_TRUE(other.start()) << other.log();
  const ProcessOutput settled = paste(other, commands_for_the_job(other).back());
  EXPECT_EQ(settled.end.exit_code, 0) << settled.text;
  EXPECT_EQ(status_of(other, run_id), "succeeded");
  EXPECT_EQ(executions(), 1U);
}

// Somebody has to decide, and to say how the job ended.
TEST_F(CopiedLog, AJobOfTheOtherOneThatAsksWaitsForBoth) {  // G10, G11
  const std::string run_id = start_waiting_job();
  const json::object begun = call("run.get", {{"run_id", run_id}});
  const json::value token = begun.at("run").at("stations").at(0).at("attempts").at(0).at("token");
  call("station.request_approval",
       {{"run_id", run_id}, {"station", "work"}, {"token", token}, {"question", "may I?"}});
  server_.kill();
  ServerProcess other(copy_to("d2", {"log", "anchor"}));
  ASSERT_TRUE(other.start()) << other.log();
  const auto commands = commands_for_the_job(other);
  const auto reason_of = [&] {
    const json::object why = call_to(other, "run.why", {{"run_id", run_id}});
    EXPECT_EQ(why.at("moving"), false);
    return why.at("reasons").at(0).as_object();
  };
  const json::object asks = reason_of();
  EXPECT_EQ(asks.at("reason"), "approval");
  const std::string described(asks.at("text").as_string());
  EXPECT_NE(described.find("may I?"), std::string::npos) << described;
  EXPECT_NE(described.find("its job was given to"), std::string::npos) << described;
  EXPECT_EQ(asks.at("next_commands").at(0).as_string(), commands.front());

  const ProcessOutput settled = paste(other, commands.back());
  EXPECT_EQ(settled.end.exit_code, 0) << settled.text;
  EXPECT_EQ(status_of(other, run_id), "running");
  const json::object held = reason_of();
  EXPECT_EQ(held.at("reason"), "approval");
  const ProcessOutput approved =
      paste(other, std::string(held.at("next_commands").at(0).as_string()));
  EXPECT_EQ(approved.end.exit_code, 0) << approved.text;
  EXPECT_EQ(status_of(other, run_id), "succeeded");
  EXPECT_EQ(executions(), 1U);
}

// The copy has the machine's id and the job's directory, but the job's supervisor is the other's.
TEST_F(CopiedLog, AWholeDataDirectoryBesideItsOriginalExecutesNothingAgain) {  // G11, P10
  const std::string run_id = start_waiting_job();
  server_.kill();
  ServerProcess other(copy_to("d2", {"log", "anchor", "machine_id", "jobs", "runs"}));
  ASSERT_TRUE(other.start()) << other.log();
  EXPECT_EQ(commands_for_the_job(other).size(), 2U);
  expect_new_runs_go_on(other);
  EXPECT_EQ(status_of(other, run_id), "running");
  // The original goes on with its job, which is executed once in all.
  start();
  std::ofstream(scratch_.path() / "go").put('\n');
  EXPECT_TRUE(eventually([&] { return status_of(server_, run_id) == "succeeded"; }));
  EXPECT_EQ(executions(), 1U);
  const json::object canceled = call_to(other, "run.cancel", {{"run_id", run_id}});
  EXPECT_FALSE(canceled.empty());
  EXPECT_TRUE(eventually([&] { return status_of(other, run_id) == "canceled"; }));
}

TEST_F(CopiedLog, AJobOfAServiceThatStoppedCleanlyIsNotSubmittedElsewhere) {  // G11
  const std::string run_id = start_waiting_job();
  EXPECT_EQ(server_.stop().exit_code, 0);
  ServerProcess other(copy_to("d2", {"log", "anchor"}));
  ASSERT_TRUE(other.start()) << other.log();
  expect_new_runs_go_on(other);
  EXPECT_EQ(status_of(other, run_id), "running");
  EXPECT_EQ(executions(), 1U);
  EXPECT_TRUE(other.logs("signalbox station settle --run " + run_id));
}

boost::json::value machine_of(const fs::path& data) {
  return boost::json::parse(content_of(data / "machine_id")).at("id");
}

// A rename isn't a copy.
TEST_F(CopiedLog, AMovedDataDirectoryKeepsItsMachine) {  // G11
  const auto before = machine_of(server_.data());
  EXPECT_EQ(fs::status(server_.data() / "machine_id").permissions(),
            fs::perms::owner_read | fs::perms::owner_write);
  server_.kill();
  fs::rename(server_.data(), scratch_.path() / "moved");
  ServerProcess moved(scratch_.path() / "moved");
  ASSERT_TRUE(moved.start()) << moved.log();
  EXPECT_EQ(machine_of(moved.data()), before);
}

TEST_F(CopiedLog, AJobUnderWayIsFoundInAMovedDataDirectory) {  // S6
  const std::string run_id = start_waiting_job();
  server_.kill();
  fs::rename(server_.data(), scratch_.path() / "moved");
  ServerProcess moved(scratch_.path() / "moved");
  ASSERT_TRUE(moved.start()) << moved.log();
  expect_new_runs_go_on(moved);
  EXPECT_EQ(status_of(moved, run_id), "running");
  std::ofstream(scratch_.path() / "go").put('\n');
  EXPECT_TRUE(eventually([&] { return status_of(moved, run_id) == "succeeded"; })) << moved.log();
  EXPECT_EQ(executions(), 1U);
}

}  // namespace
}  // namespace signalbox::test
