// Runs with coding agents and checks, with the real server and scripted agents: modes, sessions
// resumed after kills, usage limits, budgets.
#include <filesystem>

#include "server/platform/process_table.h"
#include "tests/fixtures/git_repository.h"
#include "tests/scenarios/cli_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

// An agent that appends its arguments to `calls`, one line per call. In its N-th call it runs the
// file `do-N`, and reports success if that doesn't exit.
constexpr const char* agent_script = R"(#!/bin/sh
place=$(dirname "$0")
call=$(($(cat "$place/calls" 2>/dev/null | wc -l) + 1))
cat >"$place/prompt-$call"
echo "$@" >>"$place/calls"
if [ -e "$place/do-$call" ]; then . "$place/do-$call"; fi
echo '{"type":"result","subtype":"success","is_error":false,"result":"done by call '$call'","num_turns":2,"total_cost_usd":0.5,"usage":{"input_tokens":50,"output_tokens":50}}'
)";

class CodingAgents : public CliTest {
 protected:
  void SetUp() override {
    ::unsetenv("CODERUNNER_MODE");
    CliTest::SetUp();
    std::ofstream(agent()) << agent_script;
    fs::permissions(agent(), fs::perms::owner_all);
  }
  [[nodiscard]] fs::path agent() const { return scratch_.path() / "agent"; }
  // Sets what the agent does in its N-th call.
  void in_call(int number, const std::string& script) const {
    std::ofstream(scratch_.path() / ("do-" + std::to_string(number))) << script << "\n";
  }
  [[nodiscard]] std::vector<std::string> calls() const {
    return lines_of(scratch_.path() / "calls");
  }
  [[nodiscard]] std::string prompt(int call) const {
    return content_of(scratch_.path() / ("prompt-" + std::to_string(call)));
  }
  // Starts a run with one station `implement` and our agent. `more` goes into the station's tables,
  // `head` before it. Returns the run's id.
  std::string start(const std::string& more, const std::string& head = "",
                    const std::string& kind = "claude") const {
    return start_run_of("name = \"agents\"\n" + head +
                            "\n[[station]]\nname = \"implement\"\nexecutor = \"coderunner\"\n" +
                            "command = [\"" + agent().string() + "\"]\ncancel_grace = \"200ms\"\n" +
                            more + "\n[station.coderunner]\nagent = \"" + kind +
                            "\"\nmode = \"process\"\n[station.retry]\nbackoff = \"10ms\"\n",
                        "make it work");
  }
  [[nodiscard]] json::object station(const std::string& run_id) const {
    return run(run_id).at("stations").as_array().at(0).as_object();
  }
  [[nodiscard]] json::object attempt(const std::string& run_id, std::size_t number) const {
    return station(run_id).at("attempts").as_array().at(number - 1).as_object();
  }
  // Kills every process of this attempt of the run. They are found by their environment, because
  // their names aren't certain; none is killed before all are found, since the next attempt begins
  // then.
  static void kill_processes_of(const std::string& run_id, int attempt) {
    std::vector<pid_t> found;
    for (const ProcessIdentity& each : processes_with_environment("SIGNALBOX_RUN_ID=" + run_id)) {
      if (initial_variable(each.pid, "SIGNALBOX_ATTEMPT") == std::to_string(attempt)) {
        found.push_back(each.pid);
      }
    }
    for (const pid_t pid : found) ::kill(pid, SIGKILL);
  }
};

TEST_F(CodingAgents, TheSessionIsInTheLogBeforeTheAgentStarts) {  // S7
  const std::string id = start("");
  await_status(id, "succeeded");
  ASSERT_EQ(calls().size(), 1U);
  const json::object claimed = events(id, "StationClaimed").at(0).as_object();
  const json::object intended = events(id, "StationSubmitIntended").at(0).as_object();
  const json::array refs = events(id, "StationExternalRefSet");
  ASSERT_EQ(refs.size(), 1U);
  const std::string session = text(claimed, "span_id");
  EXPECT_EQ(text(refs.at(0).at("data").as_object(), "external_ref"), "claude:" + session);
  EXPECT_EQ(refs.at(0).at("position").to_number<int>(),
            intended.at("position").to_number<int>() + 1)
      << "in the commit of the intent";
  EXPECT_EQ(text(refs.at(0).as_object(), "recorded_at"), text(intended, "recorded_at"));
  EXPECT_NE(calls().front().find("--session-id " + session), std::string::npos);
  EXPECT_EQ(text(attempt(id, 1), "summary"), "done by call 1");
  const json::array usage = events(id, "StationUsageReported");
  ASSERT_EQ(usage.size(), 1U);
  EXPECT_EQ(usage.at(0).at("data").at("usage").at("cost_microusd").to_number<int>(), 500'000);
}

// Kills shim, agent and everything between them with SIGKILL, while the server lives and while it
// is dead.
TEST_F(CodingAgents, AfterEveryKillTheSameSessionIsGoneOnWith) {  // S7
  in_call(1, "sleep 300");
  in_call(2, "sleep 300");
  const std::string id = start("");
  await([&] { return calls().size() == 1; });
  kill_processes_of(id, 1);
  await([&] { return calls().size() == 2; });
  server_.kill();
  kill_processes_of(id, 2);
  server_.start();
  await_status(id, "succeeded");
  const auto all = calls();
  ASSERT_EQ(all.size(), 3U);
  const std::string session = text(events(id, "StationClaimed").at(0).as_object(), "span_id");
  EXPECT_NE(all[0].find("--session-id " + session), std::string::npos) << all[0];
  EXPECT_NE(all[1].find("--resume " + session), std::string::npos) << all[1];
  EXPECT_NE(all[2].find("--resume " + session), std::string::npos) << all[2];
  EXPECT_EQ(text(attempt(id, 1).at("error").as_object(), "error_class"), "lost");
  EXPECT_NE(prompt(2).find("JOB_LOST"), std::string::npos) << prompt(2);
}

TEST_F(CodingAgents, AServerThatDiesLeavesTheAgentAloneAndTakesItsResult) {
  in_call(1, "while [ ! -e \"$place/go\" ]; do sleep 0.02; done");
  const std::string id = start("");
  await([&] { return calls().size() == 1; });
  for (int life = 0; life < 3; ++life) {
    server_.kill();
    server_.start();
  }
  std::ofstream(scratch_.path() / "go").put('\n');
  await_status(id, "succeeded");
  EXPECT_EQ(calls().size(), 1U);
  EXPECT_EQ(events(id, "StationSubmitIntended").size(), 1U);
}

TEST_F(CodingAgents, ACodexThreadIsKnownOnceItIsToldAndGoneOnWith) {  // S7
  in_call(1, "echo '{\"type\":\"thread.started\",\"thread_id\":\"thread-1\"}'; sleep 300");
  in_call(2,
          "echo '{\"type\":\"thread.started\",\"thread_id\":\"thread-1\"}'; "
          "echo '{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":1}}'; exit 0");
  const std::string id = start("", "", "codex");
  await([&] {
    for (const json::value& event : events(id, "StationExternalRefSet")) {
      if (event.at("data").at("external_ref") == "codex:thread-1") return true;
    }
    return false;
  });
  kill_processes_of(id, 1);
  await_status(id, "succeeded");
  ASSERT_EQ(calls().size(), 2U);
  EXPECT_NE(calls()[1].find("resume thread-1 -"), std::string::npos) << calls()[1];
}

// The station waits for the reset with its slot free, across a restart, and then goes on by itself.
TEST_F(CodingAgents, AUsageLimitParksTheStationUntilItsReset) {  // S7
  in_call(
      1,
      "echo '{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":true,\"result\":\"Claude AI "
      "usage limit reached|'$(($(date +%s) + " +
          std::to_string(test::slowness > 1 ? 20 : 4) + "))'\"}'; exit 1");
  const std::string id = start("");
  json::object waiting;
  await([&] {
    waiting = station(id);
    return text(waiting, "status") == "waiting";
  });
  EXPECT_EQ(text(waiting, "waiting_for"), "quota");
  const std::string until = text(waiting, "waiting_until");
  EXPECT_EQ(calls().size(), 1U);
  server_.kill();
  server_.start();
  await_status(id, "succeeded");
  ASSERT_EQ(calls().size(), 2U);
  EXPECT_NE(calls()[1].find("--resume"), std::string::npos);
  EXPECT_GE(text(attempt(id, 2), "started_at"), until);
  EXPECT_EQ(events(id, "StationAttemptFailed").size(), 0U) << "a limit is nobody's failure";
}

TEST_F(CodingAgents, ABudgetIsPassedOnAndHoldsTheNextAttempt) {
  const auto used = [](const std::string& turns, const std::string& usd) {
    return "echo '{\"type\":\"result\",\"subtype\":\"error_during_execution\",\"is_error\":true,"
           "\"num_turns\":" +
           turns + ",\"total_cost_usd\":" + usd + "}'; exit 1";
  };
  in_call(1, used("1", "0.25"));
  in_call(2, used("2", "0.5"));
  const std::string id = start("", "[budget]\ncost_microusd = 1000000\nturns = 3");
  await([&] {
    const json::object now = station(id);
    return text(now, "status") == "waiting" && text(now, "waiting_for") == "budget";
  });
  ASSERT_EQ(calls().size(), 2U);
  EXPECT_NE(calls()[0].find("--max-turns 3 --max-budget-usd 1.000000"), std::string::npos);
  EXPECT_NE(calls()[1].find("--max-turns 2 --max-budget-usd 0.750000"), std::string::npos);
  server_.kill();
  server_.start();
  EXPECT_EQ(text(station(id), "waiting_for"), "budget");
  EXPECT_EQ(calls().size(), 2U);
}

TEST_F(CodingAgents, TheModeIsPinnedWhenTheRunStarts) {  // S7
  const std::string pinned =
      "name = \"pinned\"\n[[station]]\nname = \"wait\"\n"
      "[[station]]\nname = \"implement\"\nexecutor = \"coderunner\"\ncommand = [\"" +
      agent().string() + "\"]\n";
  server_.kill();
  ::setenv("CODERUNNER_MODE", "process", 1);
  server_.start();
  const std::string id = start_run_of(pinned, "later", {"--idempotency-key", "k"});
  server_.kill();
  ::unsetenv("CODERUNNER_MODE");
  server_.start();
  EXPECT_EQ(start_run_of(pinned, "later", {"--idempotency-key", "k"}), id)
      << "the same request, whatever the server's mode is now";
  ASSERT_EQ(complete(id, "wait", claim(id), "succeeded").exit_code, 0);
  await_status(id, "succeeded");
  EXPECT_EQ(calls().size(), 1U) << "process, as it was when the run started";
  const std::string mock = start_run_of(pinned, "now");
  ASSERT_EQ(complete(mock, "wait", claim(mock), "succeeded").exit_code, 0);
  await_status(mock, "succeeded");
  EXPECT_EQ(calls().size(), 1U) << "mock is the default";
}

TEST_F(CodingAgents, AnUnknownModeStopsTheServer) {
  const Output output =
      run_process({SIGNALBOX_BINARY, "serve", "--data", (scratch_.path() / "data").string()},
                  {"CODERUNNER_MODE=proces"});
  EXPECT_EQ(output.exit_code, 78);
  EXPECT_NE(output.err.find("CODERUNNER_MODE"), std::string::npos) << output.err;
}

TEST_F(CodingAgents, AnUnknownPlaceholderIsRefused) {
  const std::string file = (scratch_.path() / "wrong.toml").string();
  std::ofstream(file)
      << "name = \"wrong\"\n[[station]]\nname = \"implement\"\n"
         "executor = \"coderunner\"\n[station.coderunner]\nprompt = \"Do {{gaol}}\"\n";
  const Output output = server_.cli({"run", "start", "x", "--pipeline", file, "--json"});
  EXPECT_NE(output.exit_code, 0);
  EXPECT_NE(output.out.find("PIPELINE_INVALID"), std::string::npos) << output.out;
  EXPECT_NE(output.out.find("{{gaol}}"), std::string::npos) << output.out;
}

// What a job used up until it was canceled is paid for as well.
TEST_F(CodingAgents, TheUsageOfACanceledJobIsCounted) {  // S11
  const fs::path script = scratch_.path() / "spend.sh";
  const fs::path spent = scratch_.path() / "spent";
  std::ofstream(script) << R"(cd "$SIGNALBOX_ARTIFACTS_DIR" || exit 1
echo '{"outcome":"succeeded","usage":{"cost_microusd":3000000,"tokens":70,"turns":4}}' > parts
mv parts result.json
: > ')" << spent.string()
                        << "'\nexec sleep 300\n";
  const std::string id = start_run_of(
      "name = \"spends\"\n[[station]]\nname = \"implement\"\nexecutor = \"process\"\n"
      "command = [\"sh\", \"" +
          script.string() + "\"]\ncancel_grace = \"200ms\"\n",
      "spend");
  await([&] { return fs::exists(spent); });
  result({"run", "cancel", id});
  await_status(id, "canceled");
  const json::array usage = events(id, "StationUsageReported");
  ASSERT_EQ(usage.size(), 1U);
  EXPECT_EQ(usage.at(0).at("data").at("usage").at("cost_microusd").to_number<int>(), 3'000'000);
}

// The pipeline in tools/GUIDE.md, "Agents and checks", runs in mock mode on a real repository.
TEST_F(CodingAgents, TheGuidesPipelineRuns) {
  const std::string guide = content_of(fs::path(SIGNALBOX_SOURCE_DIR) / "tools/GUIDE.md");
  const std::size_t heading = guide.find("\n## Agents and checks\n");
  const std::size_t fence = guide.find("\n```toml\n", heading);
  const std::size_t end = guide.find("\n```\n", fence);
  ASSERT_NE(end, std::string::npos);
  const std::string file = (scratch_.path() / "guide.toml").string();
  std::ofstream(file) << guide.substr(fence + 9, end - fence - 8);
  const fs::path repository = scratch_.path() / "repository";
  ASSERT_EQ(run_process(
                {"sh", "-c",
                 "git init -q -b main '" + repository.string() + "' && cd '" + repository.string() +
                     "' && printf '## Checks\\n\\n```sh\\ntest -f note.md\\n```\\n' > AGENTS.md && "
                     "git add . && git -c user.name=t -c user.email=t@localhost commit -q -m 1"})
                .exit_code,
            0);
  const std::string id =
      text(result({"run", "start", "say hello", "--pipeline", file, "--repository",
                   repository.string(), "--input", R"({"mock":{"files":{"note.md":"hello\n"}}})"}),
           "run_id");
  await([&] { return run(id).contains("ended_at"); });
  const json::object ended = run(id);
  EXPECT_EQ(text(ended, "status"), "succeeded") << json::serialize(ended);
  const auto names = [&ended](std::size_t station) {
    std::string all;
    const json::value& attempts = ended.at("stations").at(station).at("attempts");
    for (const json::value& artifact : attempts.as_array().back().at("artifacts").as_array()) {
      all += std::string(artifact.at("name").as_string()) + " ";
    }
    return all;
  };
  EXPECT_NE(names(1).find("implement_summary"), std::string::npos) << names(1);
  EXPECT_NE(names(1).find("runner_logs_excerpt"), std::string::npos) << names(1);
  EXPECT_NE(names(2).find("checks.json"), std::string::npos) << names(2);
  EXPECT_NE(names(3).find("verify_summary"), std::string::npos) << names(3);
}

}  // namespace
}  // namespace signalbox
