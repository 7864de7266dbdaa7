// What jobs at runners print, as people see it here.
#include <csignal>

#include "tests/scenarios/runner_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

class RunnerOutput : public RunnerTest {
 protected:
  // Prints, and waits for let_go() and the end.
  static std::string printing(const std::string& what) {
    return what + R"(; echo printed > "$D/printed"; )" + counted();
  }
  void await_printed() const {
    ASSERT_TRUE(eventually([&] { return fs::exists(at("printed")); }));
  }
  // Waits until the service has this of the job's output.
  void await_output(const std::string& id, const std::string& out,
                    const std::string& stream = "") const {
    EXPECT_TRUE(eventually([&] { return logs(id, stream).out == out; })) << logs(id, stream).out;
  }
  [[nodiscard]] Output logs(const std::string& id, const std::string& stream = "") const {
    std::vector<std::string> words{"run", "logs", id};
    if (!stream.empty()) words.push_back(stream);
    return server_.cli(words);
  }
};

TEST_F(RunnerOutput, IsSeenWhileTheJobRunsAndWhenItsRunnerIsGone) {  // N4, O2
  RunnerProcess& runner = start_runner("one", {"--labels", "gpu"});
  const std::string id = start_run(printing("echo begun; echo oops >&2") + "; echo over");
  await_printed();
  await_output(id, "begun\n");
  await_output(id, "oops\n", "--stderr");
  server_.kill();
  server_.start();
  ASSERT_TRUE(eventually([&] { return !id_of("one").empty(); }));
  await_output(id, "begun\n");
  let_go();
  expect_success(id);
  runner.kill();
  fs::remove_all(runner.work());
  EXPECT_EQ(logs(id).out, "begun\nover\n");
  EXPECT_EQ(logs(id, "--stderr").out, "oops\n");
  EXPECT_EQ(logs(id).err, "");
}

// Of a cell, another server has taken over, which has none of it.
TEST_F(RunnerOutput, ThatTheServiceHasLostIsSentAgain) {  // N4, K3
  start_runner("one", {"--labels", "gpu"});
  const std::string id = start_run(printing("echo begun; echo oops >&2"));
  await_printed();
  await_output(id, "begun\n");
  await_output(id, "oops\n", "--stderr");
  server_.kill();
  fs::remove_all(server_.data() / "jobs");
  server_.start();
  ASSERT_TRUE(eventually([&] { return !id_of("one").empty(); }));
  await_output(id, "begun\n");
  await_output(id, "oops\n", "--stderr");
  EXPECT_EQ(logs(id).exit_code, 0);
  let_go();
  expect_success(id);
  EXPECT_EQ(logs(id, "--stderr").out, "oops\n");
}

TEST_F(RunnerOutput, OfALongStreamTheBeginningAndTheNewestAreThere) {  // N4, O2
  start_runner("one", {"--labels", "gpu"});
  const std::string id = start_run(printing("seq 400000") + "; seq 400001 800000");
  await_printed();
  Output during;
  EXPECT_TRUE(eventually([&] {
    during = logs(id);
    return during.out.ends_with("\n400000\n");
  }));
  EXPECT_TRUE(during.out.starts_with("1\n2\n3\n")) << during.out.substr(0, 100);
  EXPECT_TRUE(during.out.ends_with("\n399999\n400000\n")) << during.err;
  EXPECT_NE(during.err.find("bytes aren't kept"), std::string::npos) << during.err;
  EXPECT_EQ(during.out.find('\0'), std::string::npos);
  let_go();
  expect_success(id);
  const Output after = logs(id);
  EXPECT_TRUE(after.out.starts_with("1\n2\n3\n")) << after.out.substr(0, 100);
  EXPECT_TRUE(after.out.ends_with("\n799999\n800000\n")) << after.err;
  EXPECT_EQ(after.out.find('\0'), std::string::npos);
}

TEST_F(RunnerOutput, OfARunnerThatDoesNotAnswerIsWhatItSentBefore) {  // N4, O2
  RunnerProcess& runner = start_runner("one", {"--labels", "gpu"});
  const std::string quiet = start_run("sleep 0; " + counted());
  const auto ended = [&] { return executions() == 1; };
  ASSERT_TRUE(eventually(ended));
  EXPECT_EQ(logs(quiet).out, "");
  EXPECT_EQ(logs(quiet).exit_code, 0);
  runner.send(SIGSTOP);
  const Output stale = logs(quiet);
  EXPECT_EQ(stale.exit_code, 0);
  EXPECT_NE(stale.err.find("doesn't answer"), std::string::npos) << stale.err;
  runner.send(SIGCONT);
  let_go();
  expect_success(quiet);
  EXPECT_EQ(logs(quiet).exit_code, 0) << "nothing was printed, which is known";
}

TEST_F(RunnerOutput, IsKeptOfJobsUnderWayAloneWhateverARunnerCallsThem) {  // N4, G1
  namespace json = boost::json;
  const json::object given = result({"rpc", "runner.register", R"({"name":"liar"})"});
  const std::string id = std::string(given.at("runner").as_string());
  const auto params = [&](json::object more) {
    more["runner"] = id;
    more["key"] = given.at("key");
    more["job_id"] = "../evil";
    return json::serialize(more);
  };
  const std::string end =
      params({{"result", json::parse(R"({"outcome":"succeeded","failure":{"outcome":"failed",)"
                                     R"("error_class":"terminal","code":"","message":""},)"
                                     R"("result":{"summary":"","logs_inline":"","external_ref":"",)"
                                     R"("metadata":"","artifacts":[]},"usage":{"cost_microusd":0,)"
                                     R"("tokens":0,"turns":0},"checks_changed":""})")}});
  EXPECT_EQ(result({"rpc", "runner.finish", end}).at("taken"), json::value(false));
  const std::string piece =
      params({{"stream", "stdout"}, {"offset", 0}, {"content", "aGk="}, {"is_newest", true}});
  EXPECT_NE(server_.cli({"rpc", "runner.output", piece}).err.find("FORBIDDEN"), std::string::npos);
  EXPECT_FALSE(fs::exists(server_.data() / "evil"));
  EXPECT_TRUE(!fs::exists(server_.data() / "jobs") || fs::is_empty(server_.data() / "jobs"));
}

TEST_F(RunnerOutput, ThatCannotBeKeptHoldsUpNoResultAndIsNamedInIt) {  // N4, N5
  RunnerProcess& runner = start_runner("one", {"--labels", "gpu", "--slots", "2"});
  const std::string id = start_run(printing("echo begun"));
  await_printed();
  const std::string silent = start_run(counted());
  ASSERT_TRUE(eventually([&] { return executions() == 2; }));
  fs::create_directories(server_.data() / "jobs");
  for (const std::string& each : {id, silent}) {
    write_text(server_.data() / "jobs" / (each + "-a-1"), "no directory");
  }
  let_go();
  for (const std::string& each : {id, silent}) {
    expect_success(each);
    const std::string events = boost::json::serialize(rpc("events.read", {{"run_id", each}}));
    const std::size_t said = events.find("Part of its output is lost: ");
    EXPECT_NE(said, std::string::npos) << events;
    EXPECT_EQ(events.find("Part of its output is lost: ", said + 1), std::string::npos) << events;
  }
  EXPECT_TRUE(runner.logs("part of the output of job " + id + "-a-1 is lost: ")) << runner.log();
}

TEST_F(RunnerOutput, WhatWasNeverSentIsRefusedWithWhatToDo) {  // N4, O2
  RunnerProcess& runner = start_runner("one", {"--labels", "gpu"});
  const std::string id = start_run(printing("echo begun"));
  await_printed();
  runner.send(SIGSTOP);
  const Output refused = logs(id);
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_NE(refused.err.find("which doesn't answer now"), std::string::npos) << refused.err;
  EXPECT_NE(refused.err.find("signalbox runner get runner:one-"), std::string::npos) << refused.err;
  runner.send(SIGCONT);
  EXPECT_TRUE(eventually([&] { return logs(id).out == "begun\n"; }));
}

}  // namespace
}  // namespace signalbox
