// `replay --what-if` on a log that real commands made.
#include "tests/scenarios/cli_fixture.h"

namespace signalbox {
namespace {

namespace json = boost::json;

class WhatIfCliTest : public CliTest {
 protected:
  json::object what_if(const std::string& policy, std::vector<std::string> more = {}) const {
    return result(command(policy, std::move(more)));
  }
  std::vector<std::string> command(const std::string& policy,
                                   std::vector<std::string> more = {}) const {
    const std::string file = (scratch_.path() / "policy.toml").string();
    std::ofstream(file) << policy;
    std::vector<std::string> words{"replay", "--what-if", file};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  static std::int64_t figure(const json::object& result, const char* history, const char* name) {
    return result.at(history).at(name).to_number<std::int64_t>();
  }
};

TEST_F(WhatIfCliTest, ShowsWhatHappenedBesideWhatWould) {  // O10
  const auto begun = std::chrono::steady_clock::now();
  const std::string first = start_run("first");
  const std::string second = start_run("second");
  const auto between_starts = std::chrono::steady_clock::now() - begun;
  const std::string token = claim(first);
  // The first run is at work for longer than it took to start the second, however slow the machine
  // is, so that two workers have both at once.
  std::this_thread::sleep_for(between_starts);
  ASSERT_EQ(complete(first, "plan", token, "succeeded").exit_code, 0);
  ASSERT_EQ(complete(first, "implement", claim(first), "succeeded").exit_code, 0);
  ASSERT_EQ(complete(second, "plan", claim(second), "succeeded").exit_code, 0);
  ASSERT_EQ(complete(second, "implement", claim(second), "failed").exit_code, 0);
  const auto played = what_if("[limits]\nworkers = 2\n");
  for (const char* history : {"recorded", "simulated", "what_if"}) {
    EXPECT_EQ(figure(played, history, "runs"), 2) << history;
    EXPECT_EQ(figure(played, history, "succeeded"), 1) << history;
    EXPECT_EQ(figure(played, history, "failed"), 1) << history;
    EXPECT_EQ(figure(played, history, "attempts"), 4) << history;
  }
  EXPECT_EQ(figure(played, "recorded", "at_once"), 1);
  EXPECT_EQ(figure(played, "simulated", "at_once"), 1);
  EXPECT_EQ(figure(played, "what_if", "at_once"), 2);
  // Workers that are always there finish no later than those that were.
  EXPECT_LE(figure(played, "simulated", "makespan_ms"), figure(played, "recorded", "makespan_ms"));
  EXPECT_LE(figure(played, "what_if", "makespan_ms"), figure(played, "simulated", "makespan_ms"));

  // How far the replay of what was recorded is off says how far to trust the forecast.
  const double error = played.at("error").at("makespan_ms").to_number<double>();
  EXPECT_LE(error, 0);
  EXPECT_EQ(played.at("error").at("attempts").to_number<double>(), 0);

  const Output table = server_.cli(command("", {"--seed", "7"}));
  EXPECT_EQ(table.exit_code, 0) << table.err;
  for (const char* said :
       {"recorded", "replayed", "error", "forecast", "succeeded an hour", "wait in a queue"}) {
    EXPECT_NE(table.out.find(said), std::string::npos) << said << "\n" << table.out;
  }
}

// A worker that takes longer than its lease, and sends no heartbeat, loses each attempt. With a
// longer lease none is lost, and each takes as long as the worker took until it claimed again.
TEST_F(WhatIfCliTest, ALongerLeaseKeepsWhatAShortOneLost) {  // O10
  const std::string toml =
      "name = \"one\"\n[[station]]\nname = \"work\"\nheartbeat_timeout = \"100ms\"\n"
      "[station.retry]\nmax_retries = 0\n";
  const std::string first = start_run_of(toml, "first");
  const std::string second = start_run_of(toml, "second");
  (void)claim(first);
  await_status(first, "failed");
  (void)claim(second);  // the worker has found that it lost the first
  await_status(second, "failed");
  const auto played = what_if("[[station]]\nheartbeat_timeout = \"10m\"\n");
  EXPECT_EQ(figure(played, "recorded", "leases_lost"), 2);
  EXPECT_EQ(figure(played, "simulated", "leases_lost"), 2);
  EXPECT_EQ(figure(played, "what_if", "leases_lost"), 0);
  EXPECT_EQ(figure(played, "what_if", "succeeded"), 2);
  EXPECT_EQ(figure(played, "what_if", "attempts_kept"), 2);
  EXPECT_LT(figure(played, "what_if", "makespan_ms"), 10 * 60 * 1000);
  EXPECT_EQ(figure(played, "recorded", "at_once"), 1);
}

// Records before the part that is replayed count neither as part of it nor in its measures.
TEST_F(WhatIfCliTest, TakesAPartOfTheLog) {
  start_run("before");
  const std::string position = json::serialize(result({"status"}).at("position"));
  start_run("after");
  const auto played = what_if("", {"--from", position});
  EXPECT_EQ(figure(played, "recorded", "runs"), 1);
  EXPECT_EQ(figure(played, "what_if", "runs"), 1);
  EXPECT_EQ(played.at("runs_before"), 1);
  EXPECT_EQ(figure(what_if("", {"--to", position}), "recorded", "runs"), 1);
}

TEST_F(WhatIfCliTest, TakesTheSettingsThatWereInForce) {  // O10
  start_run("first");
  const auto board = [this](std::vector<std::string> more) {
    return what_if("", std::move(more)).at("board").as_object();
  };
  EXPECT_EQ(board({}), (json::object{{"heartbeat", "366d"}, {"synthesizer", "366d"}}));
  const std::string file = (scratch_.path() / "settings.toml").string();
  std::ofstream(file) << "jobs_max = 3\n[board]\nheartbeat = \"3m\"\nsynthesizer = \"4m\"\n";
  EXPECT_EQ(board({"--config", file}), (json::object{{"heartbeat", "3m"}, {"synthesizer", "4m"}}));
  EXPECT_EQ(what_if("", {"--config", file}).at("jobs_max"), 3);
  // A setting on the command line is over that of the file.
  EXPECT_EQ(board({"--config", file, "--board", "heartbeat=19,39 * * * *"}),
            (json::object{{"heartbeat", "19,39 * * * *"}, {"synthesizer", "4m"}}));
}

TEST_F(WhatIfCliTest, AWrongSettingIsRefusedByItsName) {
  for (const char* wrong : {"heartbeats=2m", "heartbeat", "=2m"}) {
    const Output refused = server_.cli(command("", {"--board", wrong}));
    EXPECT_EQ(refused.exit_code, 2) << wrong;
    EXPECT_NE(refused.err.find("heartbeat, synthesizer, prune"), std::string::npos) << refused.err;
  }
  const Output refused = server_.cli(command("", {"--board", "heartbeat=often"}));
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.err.find("board.heartbeat"), std::string::npos) << refused.err;
}

TEST_F(WhatIfCliTest, AWrongPolicyIsRefused) {
  const Output wrong = server_.cli(command("[limits]\nworker = 1\n"));
  EXPECT_EQ(wrong.exit_code, 2) << wrong.out;
  EXPECT_NE(wrong.err.find("limits.worker; there are workers"), std::string::npos) << wrong.err;
  EXPECT_NE(server_.cli({"replay", "--what-if", "/nonexistent.toml"}).exit_code, 0);
}

}  // namespace
}  // namespace signalbox
