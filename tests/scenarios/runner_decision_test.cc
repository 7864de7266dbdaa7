// What is decided about runners, over restarts and kills of the service: it is in the log.
#include <thread>

#include "domain/placement.h"
#include "tests/scenarios/runner_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

namespace json = boost::json;

class RunnerDecisionTest : public RunnerTest {
 protected:
  // Returns "EVENT RUNNER ACTOR" of each decision in the log.
  [[nodiscard]] std::vector<std::string> decisions() const {
    const json::array types{"RunnerDrained", "RunnerUndrained", "RunnerEvicted",
                            "RunnerReadmitted"};
    const json::object read = rpc("events.read", {{"types", types}});
    std::vector<std::string> lines;
    for (const json::value& each : read.at("events").as_array()) {
      lines.push_back(std::string(each.at("type").as_string()) + " " +
                      std::string(each.at("data").at("runner").as_string()) + " " +
                      std::string(each.at("actor").as_string()));
    }
    return lines;
  }
  [[nodiscard]] std::string me() const {
    return std::string(rpc("server.whoami", {}).at("actor").as_string());
  }
  [[nodiscard]] fs::path old_file() const { return server_.data() / "runners.json"; }
  void write_old_file(const std::string& drained, const std::string& evicted) const {
    write_text(old_file(), R"({"schema":"runner_decisions.v1","drained":[)" + drained +
                               R"(],"evicted":[)" + evicted + "]}\n");
  }
  [[nodiscard]] json::object runner(const std::string& id) const {
    return result({"runner", "get", id});
  }
};

TEST_F(RunnerDecisionTest, ADrainOutlivesAKillRightAfterItsAnswer) {  // G1, N3
  start_runner("one", {"--labels", "gpu"});
  const std::string one = id_of("one");
  EXPECT_TRUE(result({"runner", "drain", one}).at("changed").as_bool());
  server_.kill();
  server_.start();
  EXPECT_TRUE(runner(one).at("drains").as_bool());
  ASSERT_TRUE(eventually([&] { return id_of("one") == one; }));
  const std::string id = start_run("echo x >> \"$D/executions\"");
  EXPECT_TRUE(eventually([&] { return why(id).find("take no new jobs") != std::string::npos; }))
      << why(id);
  EXPECT_EQ(executions(), 0U);
  EXPECT_TRUE(result({"runner", "drain", "--off", one}).at("changed").as_bool());
  expect_success(id);
  const std::vector<std::string> expected{"RunnerDrained " + one + " " + me(),
                                          "RunnerUndrained " + one + " " + me()};
  EXPECT_EQ(decisions(), expected);
  EXPECT_FALSE(fs::exists(old_file()));
}

// The service is killed while it is asked, before or after the event, or right after its answer;
// whoever asks repeats it.
TEST_F(RunnerDecisionTest, AreMadeOnceThoughTheServiceIsKilledMeanwhile) {  // G1, G2, N3
  start_runner("one", {"--labels", "gpu"});
  const std::string one = id_of("one");
  constexpr int rounds = 6;
  for (int round = 0; round < rounds; ++round) {
    std::vector<std::string> words{"runner", "drain", one, "--command-id",
                                   "d" + std::to_string(round)};
    if (round % 2 != 0) words.insert(words.begin() + 2, "--off");
    std::thread asks([&] { (void)server_.cli(words); });
    if (round >= rounds / 2) asks.join();
    server_.kill();
    server_.start();
    if (asks.joinable()) asks.join();
    ASSERT_TRUE(eventually([&] { return id_of("one") == one; }));
    EXPECT_EQ(result(words).at("drains").as_bool(), round % 2 == 0);
    EXPECT_EQ(runner(one).at("drains").as_bool(), round % 2 == 0);
    EXPECT_EQ(decisions().size(), static_cast<std::size_t>(round) + 1);
  }
}

TEST_F(RunnerDecisionTest, AnEvictionOutlivesTheServiceUntilTheRunnerIsReadmitted) {  // G1, N3
  RunnerProcess& process = start_runner("one", {"--labels", "gpu"});
  const std::string one = id_of("one");
  (void)result({"runner", "evict", one});
  server_.kill();
  server_.start();
  EXPECT_GT(process.wait(), 0) << process.log();
  EXPECT_TRUE(process.logs("was evicted")) << process.log();
  process.start();
  EXPECT_GT(process.wait(), 0) << process.log();
  EXPECT_EQ(id_of("one", "evicted"), one);
  EXPECT_NE(server_.cli({"runner", "drain", one}).err.find("signalbox runner evict --off " + one),
            std::string::npos);
  EXPECT_FALSE(result({"runner", "evict", "--off", one}).at("evicted").as_bool());
  process.start();
  expect_success(start_run("true"));
}

TEST_F(RunnerDecisionTest, OfAnEarlierVersionAreRecordedAndTheFileIsRemoved) {  // G1, N3
  const std::string gone = runner_id("gone", "0123456789abcdef");
  const std::string idle = runner_id("idle", "0123456789abcdef");
  EXPECT_EQ(server_.stop(), 0);
  write_old_file("\"" + idle + "\",\"box\"", "\"" + gone + "\"");
  const std::string before = content_of(old_file());
  server_.start();
  ASSERT_TRUE(eventually([&] { return !fs::exists(old_file()); })) << server_.messages();
  const std::vector<std::string> expected{"RunnerEvicted " + gone + " signalbox",
                                          "RunnerDrained " + idle + " signalbox"};
  EXPECT_EQ(decisions(), expected);
  EXPECT_EQ(runner(gone).at("state").as_string(), "evicted");
  EXPECT_TRUE(runner(idle).at("drains").as_bool());
  EXPECT_TRUE(server_.logs("box is no id of a runner"));
  // As if it had been killed after the events, and before the file was gone.
  server_.kill();
  write_text(old_file(), before);
  server_.start();
  ASSERT_TRUE(eventually([&] { return !fs::exists(old_file()); })) << server_.messages();
  EXPECT_EQ(decisions(), expected);
  EXPECT_FALSE(result({"runner", "drain", "--off", idle}).at("drains").as_bool());
  server_.kill();
  server_.start();
  EXPECT_EQ(decisions().size(), 3U) << "what was undone isn't done again";
}

// Serving without them would let runners come back that were evicted.
TEST_F(RunnerDecisionTest,
       OfAnEarlierVersionThatCannotBeReadKeepTheServiceFromStarting) {  // G1, N3
  EXPECT_EQ(server_.stop(), 0);
  write_text(old_file(), "{");
  server_.launch();
  ASSERT_TRUE(eventually([&] { return !server_.running(); }));
  EXPECT_EQ(server_.stop(), 78) << "how it has ended";
  EXPECT_TRUE(server_.logs("repair the file, or remove it")) << server_.messages();
  EXPECT_EQ(content_of(old_file()), "{");
  fs::remove(old_file());
  server_.start();
  EXPECT_TRUE(decisions().empty());
}

// Its disk may have failed, or descriptors were used up: another start may do better.
TEST_F(RunnerDecisionTest, WhoseFileCannotBeReachedMayBeReadByTheNextStart) {  // G1, N3
  EXPECT_EQ(server_.stop(), 0);
  fs::create_directory(old_file());
  server_.launch();
  ASSERT_TRUE(eventually([&] { return !server_.running(); }));
  EXPECT_EQ(server_.stop(), 74) << "how it has ended";
  EXPECT_TRUE(server_.logs("see what keeps the service from it")) << server_.messages();
  fs::remove(old_file());
  server_.start();
}

}  // namespace
}  // namespace signalbox
