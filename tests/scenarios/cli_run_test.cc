// A run by the command line alone: it is started, worked on, watched, cancelled and shown.
#include <regex>

#include <boost/json/serialize.hpp>

#include "tests/scenarios/cli_fixture.h"

namespace signalbox {
namespace {

// Replaces ids, times and durations, which differ each time, by fixed words.
std::string normalized(std::string text) {
  text = std::regex_replace(text, std::regex("[0-9a-f]{8}-[0-9a-f-]{27}"), "ID");
  text = std::regex_replace(text, std::regex("…[0-9a-f]{8}"), "…ID");
  text = std::regex_replace(
      text, std::regex("[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}(Z|[+-][0-9:]+)"), "TIME");
  text = std::regex_replace(text, std::regex("/[^ \n]*/runs/"), "RUNS/");
  text = std::regex_replace(text, std::regex("(now|[0-9]+s ago)"), "AGE");
  text = std::regex_replace(text, std::regex("[0-9.]+(ms|s)\\b"), "SPAN");
  return std::regex_replace(text, std::regex(" +"), " ");
}

TEST_F(CliTest, ARunIsWorkedOnAndShown) {
  const std::string run = start_run("make it work");
  ASSERT_EQ(complete(run, "plan", claim(run), "succeeded").exit_code, 0);
  const Output failed = server_.cli(
      {"station", "complete", "--outcome", "failed", "--error-code", "TESTS_RED", "--error-message",
       "two tests fail"},
      {"SIGNALBOX_RUN_ID=" + run, "SIGNALBOX_STATION=implement", "SIGNALBOX_TOKEN=" + claim(run)});
  EXPECT_EQ(failed.out, "station failed, run failed\n") << failed.err;

  EXPECT_EQ(normalized(server_.cli({"run", "get", run}).out),
            "run ID\n"
            "status failed\n"
            "error TESTS_RED: two tests fail\n"
            "no retry 1 attempt has failed, and max_retries is 0\n"
            "goal make it work\n"
            "pipeline two\n"
            "time TIME … TIME (SPAN)\n"
            "positions 2 … 7\n"
            "run root RUNS/ID\n"
            "\n"
            "station attempt strategy worker status started took result\n"
            "plan 1 original w succeeded TIME SPAN\n"
            "implement 1 original w failed TIME SPAN TESTS_RED: two tests fail\n");
  EXPECT_EQ(normalized(server_.cli({"run", "list"}).out),
            "run status station started took goal\n"
            "ID failed implement failed AGE SPAN make it work\n");
}

// The smallest amount is a millionth of a dollar; 0 would be no bound.
TEST_F(CliTest, ATinyBudgetIsABound) {  // O10
  for (const char* usd : {"0.0000001", "0.000001", "0.0000014"}) {
    const std::string id = start_run_of("name = \"one\"\n[[station]]\nname = \"build\"\n", "cheap",
                                        {"--max-cost-usd", usd});
    EXPECT_EQ(run(id).at("budget").at("cost_microusd"), 1) << usd;
  }
}

TEST_F(CliTest, AClaimOfAnIdleServiceEndsWithItsWait) {
  const auto none = result({"station", "claim", "--worker", "w", "--wait-ms", "100"});
  EXPECT_TRUE(none.at("claim").is_null());
}

TEST_F(CliTest, AnArtifactIsPrintedAsItIs) {
  const std::string run = start_run("leave a file");
  const std::string file = (scratch_.path() / "plan.md").string();
  std::ofstream(file) << "# Plan\n\x1b[1mbold\x1b[0m\n";
  const Output done =
      server_.cli({"station", "complete", "--run", run, "--station", "plan", "--token", claim(run),
                   "--outcome", "succeeded", "--artifact", "plan=" + file + ":text/markdown"});
  ASSERT_EQ(done.exit_code, 0) << done.err;
  const Output printed = server_.cli({"run", "artifact", run, "plan"});
  EXPECT_EQ(printed.out, "# Plan\n\x1b[1mbold\x1b[0m\n");
  EXPECT_EQ(server_.cli({"run", "artifact", run, "nothing"}).exit_code, 1);
}

TEST_F(CliTest, WatchFollowsARunToItsEndAndTellsHowItEnded) {
  const std::string good = start_run("good");
  ASSERT_EQ(complete(good, "plan", claim(good), "succeeded").exit_code, 0);
  ASSERT_EQ(complete(good, "implement", claim(good), "succeeded").exit_code, 0);
  const Output watched = server_.cli({"run", "watch", good});
  EXPECT_EQ(watched.exit_code, 0) << watched.err;
  EXPECT_NE(watched.out.find("RunSucceeded"), std::string::npos) << watched.out;
  EXPECT_EQ(watched.out.find('\x1b'), std::string::npos) << "no colours but on a terminal";
  start_run("evil \xE2\x80\xAEtxt.exe");  // would reverse the text after it
  EXPECT_NE(server_.cli({"run", "list"}).out.find("evil ?txt.exe"), std::string::npos);

  const std::string bad = start_run("bad");
  ASSERT_EQ(server_.cli({"run", "cancel", bad, "--wait"}).exit_code, 0);
  const Output json = server_.cli({"run", "watch", bad, "--json"});
  EXPECT_EQ(json.exit_code, 1);
  EXPECT_EQ(text(one_object(json).at("result").at("run").as_object(), "status"), "canceled");
}

TEST_F(CliTest, WatchWaitsForAServerThatRestarts) {
  const std::string run = start_run("survive");
  const auto out = scratch_.path() / "watch.out";
  const auto err = scratch_.path() / "watch.err";
  const pid_t watcher = spawn_process(
      {SIGNALBOX_BINARY, "run", "watch", run, "--data", server_.data().string()}, out, err);
  while (content_of(out).find("RunStarted") == std::string::npos) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  server_.kill();
  server_.start();
  EXPECT_EQ(server_.cli({"run", "cancel", run}).exit_code, 0);
  EXPECT_EQ(wait_for_exit(watcher), 1);
  const std::string events = content_of(out);
  EXPECT_EQ(events.find("RunStarted"), events.rfind("RunStarted")) << "once, in spite of the gap";
  EXPECT_NE(events.find("RunCanceled"), std::string::npos) << events;
}

TEST_F(CliTest, ListGivesAllPages) {
  for (int number = 0; number < 7; ++number) start_run("run " + std::to_string(number));
  EXPECT_EQ(result({"run", "list", "--limit", "3"}).at("runs").as_array().size(), 3U);
  const auto all = result({"run", "list", "--limit", "3", "--all"});
  EXPECT_EQ(all.at("runs").as_array().size(), 7U);
  EXPECT_TRUE(all.at("next_cursor").is_null());
}

TEST_F(CliTest, SeveralValuesMayHaveCommas) {  // O5, O6
  const std::string queued = start_run("queued");
  const std::string canceled = start_run("canceled");
  ASSERT_EQ(server_.cli({"run", "cancel", canceled}).exit_code, 0);
  const auto listed = [this](const std::string& statuses) {
    return result({"run", "list", "--status", statuses}).at("runs").as_array().size();
  };
  EXPECT_EQ(listed("queued,canceled"), 2U);
  EXPECT_EQ(listed("canceled,failed"), 1U);
  EXPECT_EQ(result({"events", "--type", "RunStarted,RunCanceled"}).at("events").as_array().size(),
            3U);
}

TEST_F(CliTest, AValueThatIsNoneSaysWhichWasMeant) {  // O6
  const Output near = server_.cli({"run", "list", "--status", "faild"});
  EXPECT_EQ(near.exit_code, 2);
  EXPECT_NE(near.err.find("--status takes no `faild`; did you mean failed?"), std::string::npos)
      << near.err;
  const Output far = server_.cli({"run", "list", "--order-by", "goal"});
  EXPECT_NE(far.err.find("it takes started, updated, ended"), std::string::npos) << far.err;
  const Output method = server_.cli({"rpc", "run.lst"});
  EXPECT_NE(method.err.find("did you mean run.list?"), std::string::npos) << method.err;
  const Output type = server_.cli({"events", "--type", "RunStart"});
  EXPECT_NE(type.err.find("there is no event type RunStart; did you mean RunStarted?"),
            std::string::npos)
      << type.err;
  EXPECT_NE(type.err.find("try: signalbox events --list-types"), std::string::npos) << type.err;
}

// Of each set of names that the service knows whole.
TEST_F(CliTest, ANameThatThereIsntSaysWhichWasMeant) {  // O6
  const std::string run = start_run("one");
  ASSERT_EQ(server_.cli({"access", "issue", "deployer", "--role", "viewer"}).exit_code, 0);
  const auto expect = [this](std::vector<std::string> words, const std::string& meant) {
    words.emplace_back("--json");  // in one line
    const Output refused = server_.cli(words);
    EXPECT_EQ(refused.exit_code, 1) << refused.out << refused.err;
    EXPECT_NE(refused.out.find("; did you mean " + meant + "?"), std::string::npos) << refused.out;
  };
  expect({"loop", "trigger", "heartbeet"}, "heartbeat");
  expect({"station", "heartbeat", "--run", run, "--station", "pln", "--token", "1"}, "plan");
  expect({"access", "revoke", "deploier", "--reason", "none"}, "deployer");
  expect({"rpc", "loop.trigger", R"({"loop":"synthesiser"})"}, "synthesizer");
  const Output far = server_.cli({"loop", "trigger", "nothing"});
  EXPECT_EQ(far.err.find("did you mean"), std::string::npos) << far.err;
}

TEST_F(CliTest, NothingThereIsNoError) {  // O6
  EXPECT_EQ(server_.cli({"run", "list"}).out, "no runs; `signalbox run start` starts one\n");
  EXPECT_EQ(server_.cli({"card", "list"}).out, "no cards; `signalbox card submit` adds one\n");
  start_run("one");
  const std::string none = "no run matches; `signalbox run list` shows all of them\n";
  EXPECT_EQ(server_.cli({"run", "list", "--project", "other"}).out, none);
  EXPECT_EQ(server_.cli({"run", "list", "--status", "failed,canceled"}).out, none);
  EXPECT_EQ(server_.cli({"card", "list", "--status", "failed"}).out,
            "no card matches; `signalbox card list` shows all of them\n");
  EXPECT_EQ(server_.cli({"card", "list", "--status", "blocked,failed"}).out,
            "no card matches; `signalbox card list` shows all of them\n");
  EXPECT_EQ(server_.cli({"lock", "list", "--owner", "nobody"}).out,
            "no lock matches; `signalbox lock list` shows all of them\n");
  EXPECT_EQ(server_.cli({"tick", "list", "--loop", "none"}).out,
            "no tick matches; `signalbox tick list` shows all of them\n");
  EXPECT_EQ(server_.cli({"events", "--actor", "nobody"}).err, "no event matches\n");
  const Output crash = server_.cli({"server", "crash-report"});
  EXPECT_EQ(crash.exit_code, 0) << crash.err;
  EXPECT_EQ(crash.out, "no crash: every stop in the log was a clean one\n");
}

TEST_F(CliTest, TimesHaveTheirZone) {  // O6
  const std::string run = start_run("when?");
  const auto has = [](const std::string& shown, const char* time) {
    return std::regex_search(shown, std::regex(time));
  };
  const auto shown = [&](std::vector<std::string> words, const std::string& zone) {
    return server_.cli(std::move(words), {"TZ=" + zone}).out;
  };
  EXPECT_TRUE(has(shown({"run", "get", run}, "UTC"), "time +([0-9:]+)\\.[0-9]{3}Z "));
  EXPECT_TRUE(
      has(shown({"run", "get", run}, "Asia/Kolkata"), "time +([0-9:]+)\\.[0-9]{3}\\+05:30 "));
  EXPECT_TRUE(has(shown({"events", "--run", run}, "Asia/Tokyo"), "[0-9]\\.[0-9]{3}\\+09 "));

  std::ofstream(server_.data() / "signalbox.toml", std::ios::app)
      << "time_zone = \"Asia/Kolkata\"\n";
  server_.kill();
  server_.start();
  const std::string loops = shown({"loop", "list"}, "UTC");
  EXPECT_TRUE(has(loops, "heartbeat .*Asia/Kolkata .*\\+05:30")) << loops;
}

TEST_F(CliTest, TheSameIdempotencyKeyGivesTheSameRun) {
  const std::vector<std::string> words = {"run",       "start",      "once",    "--idempotency-key",
                                          "nightly-7", "--pipeline", pipeline()};
  const auto first = result(words);
  const auto second = result(words);
  EXPECT_EQ(text(first, "run_id"), text(second, "run_id"));
  EXPECT_FALSE(first.at("replayed").as_bool());
  EXPECT_TRUE(second.at("replayed").as_bool());
}

TEST_F(CliTest, EventsAreReadAndFollowed) {
  const std::string run = start_run("be seen");
  const auto page = result({"events", "--run", run});
  ASSERT_EQ(page.at("events").as_array().size(), 1U);
  const Output beyond = server_.cli({"events", "--from", "1000"});
  EXPECT_EQ(beyond.exit_code, 0);
  EXPECT_EQ(beyond.out, "");
  EXPECT_NE(beyond.err.find("the log ends at "), std::string::npos) << beyond.err;  // O6
  EXPECT_EQ(text(page.at("events").at(0).as_object(), "type"), "RunStarted");

  const auto out = scratch_.path() / "follow.out";
  const pid_t follower = spawn_process({SIGNALBOX_BINARY, "events", "--follow", "--from", "1",
                                        "--json", "--data", server_.data().string()},
                                       out, scratch_.path() / "follow.err");
  EXPECT_EQ(server_.cli({"run", "cancel", run}).exit_code, 0);
  while (content_of(out).find("RunCanceled") == std::string::npos) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  ::kill(follower, SIGTERM);
  wait_for_exit(follower);
  std::istringstream lines(content_of(out));
  std::int64_t expected = 0;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_EQ(boost::json::parse(line).at("position").to_number<std::int64_t>(), ++expected);
  }
  EXPECT_GE(expected, 3);
}

}  // namespace
}  // namespace signalbox
