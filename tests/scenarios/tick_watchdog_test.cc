// The watchdog with the real binary: attempts that time out, jobs without progress, and the
// watchdog's own loop.
#include "tests/scenarios/cli_fixture.h"

namespace signalbox {
namespace {

namespace json = boost::json;

class WatchdogScenario : public CliTest {
 protected:
  void SetUp() override {}  // each test starts its own server and pipeline

  std::string start_with(RealServer& server, const std::string& station) const {
    const auto file = scratch_.path() / "p.toml";
    std::ofstream(file) << "name = \"p\"\n[[station]]\nname = \"work\"\n" << station;
    const Output output = server.cli({"run", "start", "be watched", "--pipeline", file.string()});
    EXPECT_EQ(output.exit_code, 0) << output.err;
    return output.out.substr(0, output.out.find('\n'));
  }
  static json::object result_of(const RealServer& server, std::vector<std::string> words) {
    words.emplace_back("--json");
    const Output output = server.cli(std::move(words));
    EXPECT_EQ(output.exit_code, 0) << output.out << output.err;
    return one_object(output).at("result").as_object();
  }
  // Blocks until `last` occurs. Returns the types of all events except those of the loop itself.
  static std::string types_until(const RealServer& server, const std::string& last) {
    std::string types;
    EXPECT_TRUE(eventually([&] {
      types.clear();
      const json::object page = result_of(server, {"events", "--limit", "1000"});
      for (const json::value& event : page.at("events").as_array()) {
        if (event.at("stream") != "tick/watchdog") {
          types += std::string(event.at("type").as_string()) + " ";
        }
      }
      return types.find(last) != std::string::npos;
    })) << last;
    return types;
  }
};

TEST_F(WatchdogScenario, AWorkerThatDoesntComeBackTimesOut) {  // W1, W3
  RealServer server;
  server.start();
  const std::string run = start_with(
      server,
      "timeout = \"100ms\"\nheartbeat_timeout = \"1h\"\n[station.retry]\nmax_retries = 0\n");
  const auto claimed = result_of(server, {"station", "claim", "--worker", "w"});
  EXPECT_FALSE(claimed.at("claim").is_null());
  types_until(server, "RunFailed");
  // The timer was first; the check reports what it did.
  const auto check = result_of(server, {"watchdog", "check", run});
  EXPECT_EQ(check.at("timed_out"), true);
  EXPECT_EQ(check.at("stage"), "work");
  EXPECT_GE(check.at("elapsed_s").to_number<double>(), 0.1);
  EXPECT_EQ(check.at("timer_origin_field"), "stage.started_at");
  const std::string root = server.data().string() + "/runs/" + run;
  EXPECT_EQ(check.at("checkpoint_path"), json::value(root + "/logs/timeout-checkpoint.md"));
  const json::value checkpoint = json::parse(content_of(text(check, "checkpoint_json_path")));
  EXPECT_EQ(checkpoint.at("schema_version"), "timeout_checkpoint.v1");
  EXPECT_EQ(checkpoint.at("stage"), "work");
  EXPECT_TRUE(std::filesystem::exists(text(check, "checkpoint_path")));
  const Output shown = server.cli({"watchdog", "check", run});
  EXPECT_NE(shown.out.find("timed out      yes"), std::string::npos) << shown.out;
}

TEST_F(WatchdogScenario, APausedRunStartsNothingAndIsShownAsPaused) {  // S11, W2
  RealServer server;
  server.start();
  const std::string run = start_with(server, "timeout = \"50ms\"\nheartbeat_timeout = \"1h\"\n");
  EXPECT_EQ(server.cli({"run", "pause", run, "--reason", "lunch"}).out, "paused\n");
  EXPECT_EQ(server.cli({"run", "pause", run}).out, "paused (unchanged)\n");
  EXPECT_TRUE(result_of(server, {"station", "claim", "--worker", "w"}).at("claim").is_null());
  const auto listed = result_of(server, {"run", "list", "--status", "paused"});
  ASSERT_EQ(listed.at("runs").as_array().size(), 1U);
  EXPECT_EQ(listed.at("runs").at(0).at("paused_reason"), "lunch");
  const std::string shown = server.cli({"run", "get", run}).out;
  EXPECT_NE(shown.find("paused: lunch"), std::string::npos) << shown;
  EXPECT_EQ(server.cli({"run", "resume", run}).out, "running\n");
  EXPECT_FALSE(result_of(server, {"station", "claim", "--worker", "w"}).at("claim").is_null());
  const Output unknown =
      server.cli({"run", "pause", "00000000-0000-7000-8000-000000000000", "--json"});
  EXPECT_EQ(unknown.exit_code, 1);
}

TEST_F(WatchdogScenario, AJobOfAPausedRunIsNotEndedForItsTime) {  // W2
  RealServer server({"--watchdog-interval", "100ms"});
  server.start();
  const auto go_on = scratch_.path() / "go_on";
  const std::string run = start_with(server,
                                     "executor = \"process\"\ntimeout = \"6s\"\n"
                                     "command = [\"sh\", \"-c\", \"until [ -e '" +
                                         go_on.string() + "' ]; do sleep 0.02; done\"]\n");
  // A start of the program may take longer than the timeout.
  const auto ask = [&](const char* method, const json::object& params) {
    return test::result_of(test::answer_of(server.socket(), method, params));
  };
  ASSERT_TRUE(eventually([&] {
    const json::object page = ask("events.read", {{"types", {"StationExternalRefSet"}}});
    return page.at("events").as_array().size() == 1;
  }));
  EXPECT_EQ(ask("run.pause", {{"run_id", run}}).at("status"), "paused");
  std::this_thread::sleep_for(std::chrono::milliseconds(6500));  // past its timeout
  const auto check = result_of(server, {"watchdog", "check", run});
  EXPECT_EQ(check.at("timed_out"), false);
  EXPECT_EQ(check.at("paused"), true);
  std::ofstream(go_on) << "";
  types_until(server, "RunSucceeded");
}

TEST_F(WatchdogScenario, AJobThatDoesntGetOnIsEndedAndTriedInAnotherWay) {  // W5
  RealServer server;
  server.start();
  // The job sends the same progress digest until it is ended. With the next strategy it just
  // succeeds.
  const std::string run =
      start_with(server,
                 "executor = \"process\"\n"
                 "command = [\"sh\", \"-c\", \"[ $SIGNALBOX_STRATEGY = simplified ] && exit 0; "
                 "while true; do '" SIGNALBOX_BINARY
                 "' station heartbeat --progress-digest same; sleep 0.02; done\"]\n"
                 "cancel_grace = \"100ms\"\nstall_after = \"150ms\"\n"
                 "stall_actions = [\"nudge\", \"next_strategy\"]\n"
                 "[station.retry]\nmax_retries = 1\nbackoff = \"1ms\"\n"
                 "strategies = [\"original\", \"simplified\"]\n");
  const std::string types = types_until(server, "RunSucceeded");
  EXPECT_NE(types.find("StationAttemptFailed"), std::string::npos) << types;
  const auto shown = result_of(server, {"run", "get", run});
  const json::array& attempts = shown.at("run").at("stations").at(0).at("attempts").as_array();
  ASSERT_EQ(attempts.size(), 2U);
  EXPECT_EQ(attempts[0].at("error").at("code"), "STALLED");
  EXPECT_EQ(attempts[0].at("stalls").as_array().size(), 2U);
  EXPECT_EQ(attempts[0].at("stalls").at(0).at("action"), "nudge");
  EXPECT_EQ(attempts[0].at("stalls").at(1).at("action"), "next_strategy");
  EXPECT_EQ(attempts[1].at("strategy"), "simplified");
  EXPECT_EQ(attempts[1].at("outcome"), "succeeded");
}

TEST_F(WatchdogScenario, TheLoopTicksWhileThereIsSomethingToWatchAndSurvivesAKill) {  // W1, T5
  RealServer server({"--watchdog-interval", "100ms"});
  server.start();
  const auto ticks = [&server] {
    return result_of(server, {"tick", "list", "--loop", "watchdog", "--all"})
        .at("rows")
        .as_array()
        .size();
  };
  const auto more_than = [&ticks](std::size_t count) {
    return eventually([&] { return ticks() > count; });
  };
  EXPECT_EQ(ticks(), 0U);
  const std::string run = start_with(server, "heartbeat_timeout = \"1h\"\n");
  result_of(server, {"station", "claim", "--worker", "w"});
  EXPECT_TRUE(more_than(3));
  server.kill();
  server.start();
  EXPECT_TRUE(more_than(ticks() + 3)) << "it goes on, whether a tick was cut short or not";
  result_of(server, {"run", "cancel", run});
  // With nothing left to watch, the loop writes nothing more.
  const auto tail = [&server] {
    return result_of(server, {"status"}).at("position").to_number<std::uint64_t>();
  };
  std::uint64_t before = tail();
  for (int round = 0; round < 100; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(400));
    if (tail() == before) break;
    before = tail();
  }
  EXPECT_EQ(tail(), before);
}

}  // namespace
}  // namespace signalbox
