// Tests the executor coderunner with scripted agents: they print transcripts, and fail in the ways
// in which a program that prints results can.
#include <csignal>
#include <cstdlib>

#include <boost/json/parse.hpp>

#include "server/executors/coderunner/agent_process.h"
#include "server/executors/coderunner/agent_prompt.h"
#include "server/executors/coderunner/agent_session.h"
#include "server/executors/coderunner/agent_transcript.h"
#include "server/executors/process/job_environment.h"
#include "server/platform/process_table.h"
#include "tests/server/executor_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

constexpr const char* success =
    R"({"type":"result","subtype":"success","is_error":false,"num_turns":2,"result":"All done.","total_cost_usd":0.25,"usage":{"input_tokens":10,"output_tokens":5},"permission_denials":[]})";

class AgentStation : public ::testing::Test {
 protected:
  // Returns a job whose agent is this script; its arguments are those that Signalbox adds.
  Job agent_job(const std::string& script, Agent agent = Agent::claude) {
    const fs::path file = site.root() / ("agent-" + std::to_string(++agents_));
    write_text(file, "#!/bin/sh\n" + script + "\n");
    fs::permissions(file, fs::perms::owner_all);
    Job job = site.job("implement");
    job.definition.executor = ExecutorKind::coderunner;
    job.definition.coderunner = {agent, CoderunnerMode::process, "", ""};
    job.definition.command = {file.string()};
    job.definition.cancel_grace_ms = 300;
    return job;
  }
  JobResult end_of(const Job& job) { return run_to_end(*site.executor(), job); }
  static std::string print_line(const std::string& line) {
    return "cat <<'LINE'\n" + line + "\nLINE\n";
  }
  static boost::json::object metadata(const JobResult& result) {
    return boost::json::parse(result.result.metadata).as_object();
  }

  ExecutorSite site;

 private:
  int agents_ = 0;
};

TEST_F(AgentStation, GivesResultUsageSessionAndArtifacts) {  // S7, S9
  const Job job = agent_job("cat > \"$SIGNALBOX_ARTIFACTS_DIR/asked.txt\"\necho \"$@\" > args\n" +
                            print_line(success));
  const JobResult result = end_of(job);
  ASSERT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  EXPECT_EQ(result.result.summary, "All done.");
  EXPECT_EQ(result.usage, (Usage{250'000, 15, 2}));
  EXPECT_EQ(result.result.external_ref, "claude:" + to_string(job.span_id));
  EXPECT_EQ(artifact_text(site, result, "implement_summary"), "All done.\n");
  EXPECT_NE(artifact_text(site, result, "runner_logs_excerpt").find("num_turns"),
            std::string::npos);
  EXPECT_EQ(artifact_text(site, result, "asked.txt"), agent_prompt(job)) << "the prompt is stdin";
  EXPECT_EQ(artifact_text(site, result, "prompt.md"), agent_prompt(job));
  EXPECT_EQ(
      content_of(workspace_of(job) / "args"),
      "-p --output-format stream-json --verbose --session-id " + to_string(job.span_id) + "\n");
}

// The agent can write the file. What isn't UTF-8 would break every answer about its run.
TEST_F(AgentStation, ASessionThatNoAgentCanHaveIsUnknown) {  // G1
  for (const std::string& text :
       {std::string("\xff"), std::string("claude:\xff"), std::string("claude:--resume"),
        std::string("codex:a b"), std::string("other:session"), std::string("claude:")}) {
    write_text(site.root() / "session", text);
    EXPECT_EQ(read_learned_session(site.root()).value(), "") << text;
  }
  write_text(site.root() / "session", "codex:0199-ab_c.d");
  EXPECT_EQ(read_learned_session(site.root()).value(), "codex:0199-ab_c.d");
}

TEST_F(AgentStation, PromptTellsGoalInputPastAndStrategy) {
  Job job = agent_job("");
  job.input = R"({"issue":7})";
  job.previous = "CHECKS_FAILED: lint";
  job.strategy = Strategy::decomposed;
  const std::string prompt = agent_prompt(job);
  for (const std::string& part :
       {job.goal, job.input, job.previous, strategy_sentence(Strategy::decomposed)}) {
    EXPECT_NE(prompt.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(prompt.find("{{"), std::string::npos);
  job.definition.name = "verify";
  EXPECT_NE(agent_prompt(job), prompt);
  job.goal = "{{input}}";
  job.definition.coderunner->prompt = "{{ goal }}|{{station}}|{{strategy}}";
  EXPECT_EQ(agent_prompt(job), "{{input}}|verify|" + strategy_sentence(Strategy::decomposed));
}

TEST_F(AgentStation, FaultsAreTyped) {
  const std::string begun = R"({"type":"system","subtype":"init","session_id":"s"})";
  struct Fault {
    std::string script;
    const char* code;
    ErrorClass error_class;
  };
  const std::vector<Fault> faults{
      {print_line(begun), "AGENT_NO_RESULT", ErrorClass::transient},
      {"exit 0", "AGENT_NO_RESULT", ErrorClass::transient},
      {print_line(begun) + "kill -SEGV $$", "AGENT_CRASHED", ErrorClass::transient},
      {"echo 'error: unknown option' >&2; exit 1", "AGENT_EXIT_NONZERO", ErrorClass::terminal},
      {"echo this is no JSON; echo nor this", "AGENT_OUTPUT_INVALID", ErrorClass::terminal},
      {print_line(begun) + "printf '{\"type\":\"resu'", "AGENT_OUTPUT_TRUNCATED",
       ErrorClass::transient},
      {"printf '\\377\\376\\n\\000\\n'", "AGENT_OUTPUT_INVALID", ErrorClass::terminal},
      {print_line(
           R"({"type":"result","subtype":"success","is_error":true,"result":"Prompt is too long"})"),
       "AGENT_ERROR", ErrorClass::terminal},
      {print_line(
           R"({"type":"result","subtype":"success","is_error":true,"result":"Invalid API key"})"),
       "AGENT_NOT_LOGGED_IN", ErrorClass::config},
  };
  for (const Fault& fault : faults) {
    const JobResult result = end_of(agent_job(fault.script));
    EXPECT_EQ(result.outcome, Outcome::failed) << fault.script;
    EXPECT_EQ(result.failure.code, fault.code) << fault.script << result.failure.message;
    EXPECT_EQ(result.failure.error_class, fault.error_class) << fault.script;
  }
}

TEST_F(AgentStation, CredentialsComeAlongAndAreNeverKept) {
  site.extra_environment = {"ANTHROPIC_API_KEY=sk-secret-1", "OPENAI_API_KEY=sk-secret-2"};
  const Job job = agent_job(
      "[ \"$ANTHROPIC_API_KEY\" = sk-secret-1 ] || exit 9\n"
      "[ -z \"$OPENAI_API_KEY\" ] || exit 8\n" +
      print_line(success));
  const JobResult result = end_of(job);
  EXPECT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  for (const auto& entry : fs::recursive_directory_iterator(site.root() / "jobs")) {
    if (!entry.is_regular_file()) continue;
    EXPECT_EQ(content_of(entry.path()).find("sk-secret"), std::string::npos) << entry.path();
  }
}

TEST_F(AgentStation, AnAgentThatHangsAfterItsResultIsEndedAndTheResultCounts) {  // S7
  const Job job =
      agent_job(print_line(success) + "trap '' TERM; sleep 300 & while true; do sleep 1; done");
  const JobResult result = end_of(job);
  ASSERT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  EXPECT_EQ(metadata(result).at("ended_after_result"), true);
  // The shim has reported the result, but may not have exited yet.
  const std::string entry = "SIGNALBOX_SPAN_ID=" + to_string(job.span_id);
  EXPECT_TRUE(eventually([&] { return processes_with_environment(entry).empty(); }));
}

// Such as a development server that the agent left running: its result counts all the same.
TEST_F(AgentStation, TasksInTheBackgroundKeepAnAgentOnlyWhileItSaysSomething) {  // S7, A5
  const std::string started =
      R"({"type":"system","subtype":"background_tasks_changed","tasks":[{"task_id":"t"}]})";
  const fs::path script = site.root() / "agent";
  write_text(script, "#!/bin/sh\n" + print_line(started) + print_line(success) + "sleep 300\n");
  fs::permissions(script, fs::perms::owner_all);
  const auto is_ended_after_result = [&script] {
    become_agent_supervisor();
    AgentCall call;
    call.argv = {script.string()};
    call.grace_ms = 300'000;
    call.silence_ms = 300;
    const auto transcript = claude_transcript();
    const AgentEnd end = call_agent(call, *transcript);
    return end.ended_after_result && transcript->report().has_open_tasks;
  };
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(std::_Exit(is_ended_after_result() ? 0 : 1), testing::ExitedWithCode(0), "");
}

TEST_F(AgentStation, AFloodIsBoundedAndTheResultStillRead) {  // S9
  // 24 MiB: lines of noise, one very long line, then the result.
  const Job job = agent_job(
      "yes '{\"type\":\"noise\",\"text\":\"0123456789012345678901234567890123456789\"}' | "
      "head -c 16777216\nprintf '\\n'\nyes x | tr -d '\\n' | head -c 8388608\nprintf '\\n'\n" +
      print_line(success));
  const JobResult result = end_of(job);
  ASSERT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  EXPECT_EQ(metadata(result).at("dropped_lines").to_number<int>(), 1);
  EXPECT_LE(fs::file_size(site.job_root(job) / "stdout.log"), 1024U * 1024U);
  const std::string excerpt = artifact_text(site, result, "runner_logs_excerpt");
  EXPECT_LE(excerpt.size(), 16U * 1024U);
  EXPECT_TRUE(excerpt.starts_with("[cut to fit into 16384 bytes; the original is 251"))
      << excerpt.substr(0, 100);
}

TEST_F(AgentStation, AUsageLimitTellsItsReset) {
  const JobResult result = end_of(agent_job(
      print_line(
          R"({"type":"result","subtype":"success","is_error":true,"result":"Claude AI usage limit reached|4102444800"})") +
      "exit 1"));
  EXPECT_EQ(result.failure.error_class, ErrorClass::quota);
  EXPECT_EQ(result.failure.code, "USAGE_LIMIT");
  EXPECT_EQ(result.quota_reset_at_ns, 4'102'444'800'000'000'000);
}

TEST_F(AgentStation, ASessionIsGoneOnWith) {  // S7
  Job job = agent_job("echo \"$@\" > args\n" + print_line(success));
  job.resume_ref = "claude:5b6a7c1e-0d0f-4a53-9a3c-6c1d0f6f2a10";
  EXPECT_EQ(site.executor()->submit(job).value(), job.resume_ref);
  const JobResult result = end_of(job);
  EXPECT_EQ(result.outcome, Outcome::succeeded);
  EXPECT_NE(
      content_of(workspace_of(job) / "args").find("--resume 5b6a7c1e-0d0f-4a53-9a3c-6c1d0f6f2a10"),
      std::string::npos);
  EXPECT_EQ(metadata(result).at("resumed"), true);
}

// claude refuses the id of a session that it ever had: "Session ID … is already in use".
TEST_F(AgentStation, ASessionThatIsGoneIsBegunAnewUnderAnotherId) {  // S7
  Job job = agent_job(
      "echo \"$@\" >> args\ncase \"$*\" in *--resume*) "
      "echo 'No conversation found with session ID: x' >&2; exit 1;; esac\n" +
      print_line(success));
  job.resume_ref = "claude:5b6a7c1e-0d0f-4a53-9a3c-6c1d0f6f2a10";
  const JobResult result = end_of(job);
  EXPECT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  EXPECT_EQ(metadata(result).at("resumed"), false);
  EXPECT_NE(content_of(workspace_of(job) / "args").find("--session-id " + to_string(job.span_id)),
            std::string::npos);
  EXPECT_EQ(result.result.external_ref, "claude:" + to_string(job.span_id));
  EXPECT_EQ(site.executor()->learned_ref(job).value(), "claude:" + to_string(job.span_id));
}

// What refuses to go on with it has an id of its own, which is of no session.
TEST_F(AgentStation, ASessionThatIsGoneIsntTheOneOfItsRefusal) {  // A5
  Job job = agent_job(
      "case \"$*\" in *--resume*) " +
      print_line(
          R"({"type":"result","subtype":"error_during_execution","is_error":true,"num_turns":0,"session_id":"99999999-0d0f-4a53-9a3c-6c1d0f6f2a10","errors":["No conversation found with session ID: x"]})") +
      "exit 1;; esac\n" + print_line(success));
  job.resume_ref = "claude:5b6a7c1e-0d0f-4a53-9a3c-6c1d0f6f2a10";
  const std::string begun = "claude:" + to_string(job.span_id);
  const JobResult result = end_of(job);
  EXPECT_EQ(result.outcome, Outcome::succeeded) << result.failure.message;
  EXPECT_EQ(result.result.external_ref, begun);
  EXPECT_EQ(site.executor()->learned_ref(job).value(), begun);
}

// codex reports its thread's id only once it runs; the id has to be kept before anything can fail.
TEST_F(AgentStation, ALearnedSessionOutlivesShimAndAgent) {
  const Job job = agent_job(
      "echo '{\"type\":\"thread.started\",\"thread_id\":\"t-1\"}'\n"
      "while true; do sleep 1; done",
      Agent::codex);
  ASSERT_EQ(site.executor()->submit(job).value(), job.id) << "nothing is known yet";
  ASSERT_TRUE(eventually([&] { return site.executor()->learned_ref(job).value() == "codex:t-1"; }));
  for (const ProcessIdentity& process :
       processes_with_environment("SIGNALBOX_SPAN_ID=" + to_string(job.span_id))) {
    send_signal(process, SIGKILL);
  }
  ASSERT_TRUE(eventually([&] { return site.executor()->poll(job).value() == JobState::lost; }));
  EXPECT_EQ(site.executor()->learned_ref(job).value(), "codex:t-1");
  EXPECT_TRUE(site.executor()->clean_up_lost(job)->empty());
}

TEST_F(AgentStation, WhatAKilledAttemptPrintedIsKnown) {  // A5
  const Job job = agent_job(
      print_line(
          R"({"type":"assistant","session_id":"s","message":{"id":"m","content":[],"usage":{"input_tokens":900,"output_tokens":100}}})") +
      "while true; do sleep 1; done");
  ASSERT_TRUE(site.executor()->submit(job).has_value());
  const auto used = [&] {
    JobResult result;
    site.executor()->describe_lost(job, result);
    return result;
  };
  ASSERT_TRUE(eventually([&] { return used().usage != Usage{}; }));
  for (const ProcessIdentity& process :
       processes_with_environment("SIGNALBOX_SPAN_ID=" + to_string(job.span_id))) {
    send_signal(process, SIGKILL);
  }
  ASSERT_TRUE(eventually([&] { return site.executor()->poll(job).value() == JobState::lost; }));
  EXPECT_TRUE(site.executor()->clean_up_lost(job)->empty());
  EXPECT_EQ(used().usage, (Usage{0, 1000, 1}));
  EXPECT_EQ(metadata(used()).at("usage_estimated"), true);
}

// The shim lives on, and says that its command was killed.
TEST_F(AgentStation, WhatACoderunnerThatWasKilledAloneUsedIsKnown) {  // A5
  const JobResult result = end_of(agent_job(
      print_line(
          R"({"type":"assistant","session_id":"s","message":{"id":"m","content":[],"usage":{"input_tokens":900,"output_tokens":100}}})") +
      "until [ -s \"$SIGNALBOX_ARTIFACTS_DIR/../agent_usage.json\" ]; do sleep 0.05; done\n"
      "kill -9 $PPID\nsleep 60"));
  EXPECT_EQ(result.outcome, Outcome::failed);
  EXPECT_EQ(result.usage, (Usage{0, 1000, 1}));
  EXPECT_EQ(metadata(result).at("usage_estimated"), true);
}

TEST_F(AgentStation, WhatATimedOutAttemptUsedIsKnown) {
  JobResult result;
  end_far_enough(1500, [&](std::int64_t timeout_ms) {
    Job job = agent_job(
        "trap '' TERM\n" +
        print_line(
            R"({"type":"assistant","message":{"id":"m","content":[],"usage":{"input_tokens":900,"output_tokens":100}}})") +
        "until [ -s \"$SIGNALBOX_ARTIFACTS_DIR/../agent_usage.json\" ]; do sleep 0.05; done\n"
        "touch \"$SIGNALBOX_RUN_ROOT/far\"\nwhile true; do sleep 0.1; done");
    job.definition.timeout_ms = timeout_ms;
    result = end_of(job);
    return fs::exists(fs::path(job.run_root) / "far");
  });
  EXPECT_EQ(result.outcome, Outcome::timeout);
  EXPECT_EQ(result.failure.code, "TIMEOUT");
  EXPECT_EQ(result.usage, (Usage{0, 1000, 1}));
  EXPECT_EQ(metadata(result).at("usage_estimated"), true);
}

TEST_F(AgentStation, MockIsDeterministicAndDoesAsItIsTold) {  // S7
  Job job = agent_job("");
  job.definition.command.clear();
  job.definition.coderunner->mode.reset();  // mock is the default
  const JobResult first = end_of(job);
  ASSERT_EQ(first.outcome, Outcome::succeeded) << first.failure.message;
  EXPECT_EQ(first.result.summary, "Mock implement, attempt 1, strategy original.\n\n" + job.goal);
  EXPECT_EQ(first.usage.turns, 1);
  EXPECT_FALSE(artifact_text(site, first, "mock_result.json").empty());

  const auto with_input = [&](const std::string& input) {
    Job other = agent_job("");
    other.definition.command.clear();
    other.definition.coderunner->mode = CoderunnerMode::mock;
    other.input = input;
    return other;
  };
  JobResult result = end_of(
      with_input(R"({"mock":{"outcome":"fail","error_class":"quota","quota_reset_in_ms":60000}})"));
  EXPECT_EQ(result.failure.error_class, ErrorClass::quota);
  EXPECT_TRUE(result.quota_reset_at_ns.has_value());
  const Job files = with_input(R"({"mock":{"files":{"src/new.txt":"hello\n"}}})");
  EXPECT_EQ(end_of(files).outcome, Outcome::succeeded);
  EXPECT_EQ(content_of(workspace_of(files) / "src/new.txt"), "hello\n");
  EXPECT_EQ(end_of(with_input(R"({"mock":{"files":{"../out":"x"}}})")).failure.code,
            "MOCK_INVALID");
  EXPECT_EQ(end_of(with_input(R"({"mock":{"outcom":"fail"}})")).failure.code, "MOCK_INVALID");
  EXPECT_EQ(end_of(with_input(R"({"mock":{"station":"verify","outcome":"fail"}})")).outcome,
            Outcome::succeeded);
}

TEST_F(AgentStation, AModeThatIsntThereIsConfiguration) {
  Job job = agent_job("");
  job.definition.coderunner->mode = CoderunnerMode::modal;
  const JobResult result = end_of(job);
  EXPECT_EQ(result.failure.code, "MODE_NOT_AVAILABLE");
  EXPECT_EQ(result.failure.error_class, ErrorClass::config);
}

TEST(SessionRef, IsKnownAtTheStartWhereItCanBe) {
  const Uuid span = *parse_uuid("5b6a7c1e-0d0f-4a53-9a3c-6c1d0f6f2a10");
  StationDefinition station;
  station.executor = ExecutorKind::coderunner;
  station.coderunner = {Agent::claude, CoderunnerMode::process, "", ""};
  EXPECT_EQ(session_ref_at_start(station, span, ""), "claude:" + to_string(span));
  EXPECT_EQ(session_ref_at_start(station, span, "claude:before"), "claude:before");
  EXPECT_EQ(session_ref_at_start(station, span, "codex:other"), "claude:" + to_string(span));
  EXPECT_EQ(session_ref_at_start(station, span, "claude:--print"), "claude:" + to_string(span));
  station.coderunner->agent = Agent::codex;
  EXPECT_EQ(session_ref_at_start(station, span, ""), "");
  EXPECT_EQ(session_ref_at_start(station, span, "codex:before"), "codex:before");
  station.coderunner->mode = CoderunnerMode::mock;
  EXPECT_EQ(session_ref_at_start(station, span, "codex:before"), "");
}

}  // namespace
}  // namespace signalbox
