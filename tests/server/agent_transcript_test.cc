// Tests how agents' output is parsed, with golden transcripts, and how the ways in which an agent
// can end are classified.
#include <gtest/gtest.h>

#include <cerrno>
#include <functional>

#include <boost/json/parse.hpp>

#include "server/executors/coderunner/agent_command.h"
#include "server/executors/coderunner/agent_verdict.h"
#include "server/executors/coderunner/line_splitter.h"
#include "server/executors/coderunner/usage_limit.h"
#include "server/text/time_text.h"
#include "tests/server/executor_fixture.h"

namespace signalbox {
namespace {

// Five hours before the time at which the transcripts' usage limits end.
const std::int64_t now_ns = 1'762'934'400'000'000'000;

AgentReport played(std::unique_ptr<AgentTranscript> transcript, const std::string& file) {
  LineSplitter lines([&](std::string_view line) { transcript->line(line); });
  lines.add(content_of(std::string(SIGNALBOX_SOURCE_DIR "/tests/server/transcripts/") + file));
  lines.finish_rest();
  return transcript->report();
}
AgentReport claude(const std::string& file) { return played(claude_transcript(), file); }
AgentReport codex(const std::string& file) { return played(codex_transcript(), file); }

AgentEnd exited(int exit_code) {
  AgentEnd end;
  end.exit_code = exit_code;
  return end;
}
DeclaredResult verdict(const AgentReport& report, const AgentEnd& end,
                       Agent agent = Agent::claude) {
  AgentTask task;
  task.mode = CoderunnerMode::process;
  task.agent = agent;
  return agent_verdict(task, report, {report.usage()}, end, false, now_ns);
}
std::string declared_code(const DeclaredResult& result) {
  return result.error_code.value_or("none");
}

TEST(ClaudeTranscript, StreamGivesSessionTextTurnsTokensCostAndDenials) {  // S7
  const AgentReport report = claude("claude_success.jsonl");
  EXPECT_TRUE(report.has_result);
  EXPECT_FALSE(report.is_error);
  EXPECT_EQ(report.session, "5b6a7c1e-0d0f-4a53-9a3c-6c1d0f6f2a10");
  EXPECT_EQ(report.model, "claude-sonnet-4-5");
  EXPECT_EQ(report.final_text, "`add` adds again; the test passes.");
  EXPECT_EQ(report.usage(), (Usage{12'346, 22'770, 3}));
  EXPECT_EQ(report.denied_tools, (std::vector<std::string>{"Bash", "WebFetch"}));
  EXPECT_FALSE(report.quota_refused) << "an event that reports a limit isn't a refusal";
  EXPECT_EQ(report.invalid_lines, 0U);

  const DeclaredResult result = verdict(report, exited(0));
  EXPECT_EQ(result.outcome, Outcome::succeeded);
  EXPECT_EQ(result.summary, report.final_text);
  EXPECT_EQ(result.used(), report.usage());
  EXPECT_EQ(result.external_ref, "claude:5b6a7c1e-0d0f-4a53-9a3c-6c1d0f6f2a10");
  const auto metadata = boost::json::parse(*result.metadata).as_object();
  EXPECT_EQ(metadata.at("permission_denials").to_number<int>(), 2);
  EXPECT_EQ(metadata.at("cost_microusd").to_number<int>(), 12'346);
}

TEST(ClaudeTranscript, JsonIsTheResultAlone) {  // S7
  const AgentReport report = claude("claude_json.json");
  EXPECT_TRUE(report.has_result);
  EXPECT_EQ(report.final_text, "Hello.");
  EXPECT_EQ(report.usage(), (Usage{3'100, 110, 1}));
  const auto array = claude_transcript();
  EXPECT_TRUE(array->line(R"([{"type":"system","subtype":"init","session_id":"s"},
      {"type":"result","subtype":"success","is_error":false,"result":"ok"}])"));
  EXPECT_EQ(array->report().final_text, "ok");
  EXPECT_EQ(array->report().session, "s");
}

// Before the result, usage is the sum over messages: each counts once, however many events it has.
TEST(ClaudeTranscript, UsageSoFarIsKnownWithoutAResult) {
  const std::string whole =
      content_of(SIGNALBOX_SOURCE_DIR "/tests/server/transcripts/claude_success.jsonl");
  const auto transcript = claude_transcript();
  LineSplitter lines([&](std::string_view line) { transcript->line(line); });
  lines.add(whole.substr(0, whole.find("{\"type\":\"result\"")));
  EXPECT_FALSE(transcript->report().has_result);
  EXPECT_EQ(transcript->report().usage(), (Usage{0, 22'770, 2}));
  const DeclaredResult result = verdict(transcript->report(), exited(0));
  EXPECT_EQ(declared_code(result), "AGENT_NO_RESULT");
  EXPECT_EQ(result.error_class, ErrorClass::transient);
  EXPECT_EQ(result.used().tokens, 22'770);
}

TEST(CodexTranscript, GivesThreadTextTurnsAndTokens) {  // S7
  const AgentReport report = codex("codex_success.jsonl");
  EXPECT_TRUE(report.has_result);
  EXPECT_FALSE(report.is_error) << "a lost connection that came back is no failure";
  EXPECT_EQ(report.session, "0199a213-81c0-7800-8aa1-bbab2a035a53");
  EXPECT_EQ(report.final_text, "The sign was wrong; it adds again.");
  EXPECT_EQ(report.usage(), (Usage{0, 24'885, 1}));
  EXPECT_EQ(verdict(report, exited(0), Agent::codex).external_ref,
            "codex:0199a213-81c0-7800-8aa1-bbab2a035a53");
}

TEST(ForeignAgentOutput, BytesAreCountedAndSkipped) {
  const auto transcript = claude_transcript();
  EXPECT_TRUE(transcript->line(""));
  EXPECT_FALSE(transcript->line("npm warn something"));
  EXPECT_FALSE(transcript->line("42"));
  EXPECT_FALSE(transcript->line("{\"type\":"));
  EXPECT_TRUE(
      transcript->line("{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,"
                       "\"result\":\"caf\xE9\"}"));
  EXPECT_EQ(transcript->report().invalid_lines, 3U);
  EXPECT_EQ(transcript->report().final_text, "caf\xEF\xBF\xBD");
  // Fields with types that differ from today's.
  EXPECT_TRUE(transcript->line(R"({"type":"assistant","message":[1],"session_id":7})"));
  EXPECT_TRUE(transcript->line(R"({"type":"result","usage":3,"num_turns":-4,"total_cost_usd":"x",
      "permission_denials":[1,{}],"errors":[null]})"));
  EXPECT_EQ(transcript->report().usage().turns, 0);
}

TEST(LineSplitter, DropsWhatIsTooLongAndReadsOn) {
  std::vector<std::string> lines;
  LineSplitter splitter([&](std::string_view line) { lines.emplace_back(line); });
  splitter.add("one\ntw");
  splitter.add("o\n");
  for (std::size_t bytes = 0; bytes <= agent_line_bytes_max; bytes += 1024) {
    splitter.add(std::string(1024, 'x'));
  }
  splitter.add("\nthree\nfour");
  EXPECT_EQ(splitter.dropped_lines(), 1U);
  EXPECT_EQ(lines, (std::vector<std::string>{"one", "two", "three"}));
  EXPECT_TRUE(splitter.finish_rest());
  EXPECT_FALSE(splitter.finish_rest());
  EXPECT_EQ(lines.back(), "four");
}

TEST(LineSplitter, CutsAStringThatIsTooLong) {  // P8
  for (const std::size_t bytes : {agent_string_bytes_max, agent_string_bytes_max + 1}) {
    std::string line;
    LineSplitter splitter([&](std::string_view whole) { line = whole; });
    splitter.add("\"" + std::string(bytes, 'x') + "\",\"short\"\n");
    EXPECT_EQ(line, "\"" + std::string(agent_string_bytes_max, 'x') + "\",\"short\"");
    EXPECT_EQ(splitter.cut_strings(), bytes - agent_string_bytes_max);
  }
}

TEST(AgentVerdict, EachEndHasItsType) {
  struct Case {
    const char* code;
    ErrorClass error_class;
    std::function<void(AgentReport&, AgentEnd&)> make;
  };
  const std::vector<Case> cases{
      {"AGENT_NO_RESULT", ErrorClass::transient, [](auto&, auto& end) { end = exited(0); }},
      {"AGENT_CRASHED", ErrorClass::transient,
       [](auto&, auto& end) {
         end.exit_code.reset();
         end.signal = 11;
       }},
      {"AGENT_EXIT_NONZERO", ErrorClass::terminal,
       [](auto&, auto& end) {
         end = exited(1);
         end.stderr_end = "error: unknown option '--max-budget-usd'";
       }},
      {"AGENT_EXIT_NONZERO", ErrorClass::transient,
       [](auto& report, auto& end) {
         end = exited(1);
         report.session = "s";
       }},
      {"AGENT_EXIT_NONZERO", ErrorClass::terminal,
       [](auto& report, auto& end) {
         end = exited(3);
         report.has_result = true;
       }},
      {"AGENT_NOT_LOGGED_IN", ErrorClass::config,
       [](auto&, auto& end) {
         end = exited(1);
         end.stderr_end = "Invalid API key · Please run /login";
       }},
      {"AGENT_OUTPUT_INVALID", ErrorClass::terminal,
       [](auto& report, auto&) { report.invalid_lines = 2; }},
      {"AGENT_OUTPUT_TRUNCATED", ErrorClass::transient,
       [](auto& report, auto& end) {
         report.invalid_lines = 1;
         end.cut_off = true;
       }},
      {"AGENT_INTERRUPTED", ErrorClass::transient,
       [](auto&, auto& end) { end.interrupted = true; }},
      {"AGENT_ERROR", ErrorClass::terminal,
       [](auto& report, auto&) {
         report.has_result = report.is_error = true;
         report.error_text = "Prompt is too long";
       }},
      {"AGENT_ERROR", ErrorClass::transient,
       [](auto& report, auto&) {
         report.has_result = report.is_error = true;
         report.error_text = "API Error: 529 Overloaded";
       }},
      {"VERDICT_FAIL", ErrorClass::terminal,
       [](auto& report, auto&) {
         report.has_result = true;
         report.final_text =
             "The test fails, see usage limit reached|1762952400.\n\n**VERDICT: FAIL**\n";
       }},
      {"CONFIG_MISSING", ErrorClass::config, [](auto&, auto& end) { end.start_error = ENOENT; }},
      {"CONFIG_MISSING", ErrorClass::config, [](auto&, auto& end) { end.start_error = EACCES; }},
      // The machine's table of files is full; the program is being written by its installer.
      {"AGENT_NOT_STARTED", ErrorClass::transient,
       [](auto&, auto& end) { end.start_error = ENFILE; }},
      {"AGENT_NOT_STARTED", ErrorClass::transient,
       [](auto&, auto& end) { end.start_error = ETXTBSY; }},
      {"AGENT_NOT_STARTED", ErrorClass::transient,
       [](auto&, auto& end) { end.start_error = EMFILE; }},
  };
  for (const Case& each : cases) {
    AgentReport report;
    AgentEnd end = exited(0);
    each.make(report, end);
    const DeclaredResult result = verdict(report, end);
    EXPECT_EQ(result.outcome, Outcome::failed) << each.code;
    EXPECT_EQ(declared_code(result), each.code) << result.error_message.value_or("");
    EXPECT_EQ(result.error_class, each.error_class) << each.code;
  }
  EXPECT_EQ(declared_code(verdict(claude("claude_max_turns.jsonl"), exited(1))), "AGENT_MAX_TURNS");
}

TEST(AgentVerdict, AResultCountsWhateverBecameOfTheProgramAfterIt) {
  const AgentReport report = claude("claude_success.jsonl");
  AgentEnd end;
  end.ended_after_result = true;
  EXPECT_EQ(verdict(report, end).outcome, Outcome::succeeded);
}

TEST(AgentVerdict, UsageLimitsAreQuotaWithTheirReset) {
  for (const char* file : {"claude_usage_limit_epoch.jsonl", "claude_usage_limit_event.jsonl"}) {
    const DeclaredResult result = verdict(claude(file), exited(1));
    EXPECT_EQ(declared_code(result), "USAGE_LIMIT") << file;
    EXPECT_EQ(result.error_class, ErrorClass::quota) << file;
    EXPECT_EQ(result.quota_reset_at_ns(), 1'762'952'400'000'000'000) << file;
  }
  const DeclaredResult result = verdict(codex("codex_failed.jsonl"), exited(1), Agent::codex);
  EXPECT_EQ(result.error_class, ErrorClass::quota);
  EXPECT_EQ(result.quota_reset_at_ns(), 1'777'936'568'000'000'000);

  AgentReport report;
  AgentEnd end = exited(1);
  end.stderr_end = "ERROR: You've hit your usage limit. Upgrade your plan.";
  EXPECT_EQ(verdict(report, end).error_class, ErrorClass::quota);
  EXPECT_FALSE(verdict(report, end).quota_reset_at) << "unknown: the usual backoff";
  end.stderr_end = "Claude AI usage limit reached|1500000000";
  EXPECT_EQ(verdict(report, end).error_class, ErrorClass::quota);
  EXPECT_FALSE(verdict(report, end).quota_reset_at) << "past: it would be tried again at once";
  const std::int64_t minute_ns = 60'000'000'000;
  const auto reached_at = [&](std::int64_t at_ns) {
    end.stderr_end = "Claude AI usage limit reached|" + std::to_string(at_ns / 1'000'000'000);
    return verdict(report, end).quota_reset_at_ns();
  };
  EXPECT_EQ(reached_at(now_ns - 3 * minute_ns), now_ns + minute_ns)
      << "not over by the provider's clock, which is behind this machine's";
  EXPECT_FALSE(reached_at(now_ns - 11 * minute_ns));
}

TEST(AgentVerdict, KnowsThatASessionIsGone) {
  EXPECT_TRUE(session_is_gone(claude("claude_no_session.jsonl"), exited(1)));
  EXPECT_FALSE(session_is_gone(claude("claude_success.jsonl"), exited(0)));
  for (const char* text : {"Claude ended this conversation. Start a new session to continue.",
                           "Failed to resume session: its file can't be read",
                           "Error: Session x is running in the background (session 1)",
                           "failed to read thread: empty session file",
                           "session x is archived. Run `codex unarchive x` first"}) {
    AgentReport report;
    AgentEnd end = exited(1);
    end.stderr_end = text;
    EXPECT_TRUE(session_is_gone(report, end)) << text;
    report.turns = 1;
    EXPECT_FALSE(session_is_gone(report, end)) << text;
  }
}

TEST(UsageLimit, ReadsResetTimes) {
  // 2025-11-12 08:00 UTC
  const std::vector<std::pair<const char*, const char*>> cases{
      {"Claude AI usage limit reached|1762952400", "2025-11-12T13:00:00.000000000Z"},
      {"try again in 3 hours 2 minutes.", "2025-11-12T11:02:00.000000000Z"},
      {"Upgrade or try again in 5 days 22 hours 11 minutes.", "2025-11-18T06:11:00.000000000Z"},
      {R"({"type":"usage_limit_reached","resets_in_seconds":90})",
       "2025-11-12T08:01:30.000000000Z"},
      {R"({\"resets_at\":1762952400})", "2025-11-12T13:00:00.000000000Z"},
      {"limit resets at: 2025-11-13T10:13:01Z", "2025-11-13T10:13:01.000000000Z"},
      {"You've hit your limit · resets 1:30am (UTC)", "2025-11-13T01:30:00.000000000Z"},
      {"Your limit will reset at 3pm (UTC).", "2025-11-12T15:00:00.000000000Z"},
      {"You've hit your weekly limit · resets Nov 15, 5pm (UTC)", "2025-11-15T17:00:00.000000000Z"},
      {"limit · resets Jan 2 at 12am (UTC)", "2026-01-02T00:00:00.000000000Z"},
      // What is just over isn't a day, or a year, away.
      {"try again at 8:00 AM (UTC)", "2025-11-12T08:01:00.000000000Z"},
      {"limit · resets Nov 12, 8am (UTC)", "2025-11-12T08:01:00.000000000Z"},
      {"try again at 7:55 AM (UTC)", "2025-11-12T07:55:00.000000000Z"},
      {"try again at 7:50 AM (UTC)", "2025-11-13T07:50:00.000000000Z"},
  };
  for (const auto& [text, expected] : cases) {
    const auto time = usage_limit_reset_at_ns(text, now_ns);
    EXPECT_EQ(time ? format_time(*time) : "none", expected) << text;
  }
  EXPECT_FALSE(usage_limit_reset_at_ns("resets 2pm (No/Such_Zone)", now_ns));
  EXPECT_FALSE(usage_limit_reset_at_ns("limit reached|99999999999", now_ns)) << "no such time";
  EXPECT_FALSE(usage_limit_reset_at_ns("wait for limits to reset (every 5h)", now_ns));
  if (std::filesystem::exists("/usr/share/zoneinfo/Asia/Dhaka")) {  // UTC+6
    EXPECT_EQ(format_time(*usage_limit_reset_at_ns("resets 3pm (Asia/Dhaka)", now_ns)),
              "2025-11-12T09:00:00.000000000Z");
  }
}

TEST(UsageLimit, IsToldFromOtherTexts) {
  EXPECT_TRUE(mentions_usage_limit("You've hit your usage limit."));
  EXPECT_TRUE(mentions_usage_limit("Weekly limit reached · resets 10am (Asia/Seoul)"));
  EXPECT_FALSE(mentions_usage_limit("Prompt is too long"));
}

TEST(AgentCommand, TellsTheSessionTheModelAndWhatIsLeft) {
  AgentTask task;
  task.new_session = "uuid";
  task.model = "opus";
  task.budget_left = {1'250'000, 0, 7};
  EXPECT_EQ(agent_command(task, false),
            (std::vector<std::string>{"claude", "--permission-mode", "acceptEdits",
                                      "--allowedTools", "Bash", "-p", "--output-format",
                                      "stream-json", "--verbose", "--session-id", "uuid", "--model",
                                      "opus", "--max-turns", "7", "--max-budget-usd", "1.250000"}));
  task.resume_session = "before";
  task.command = {"my-claude", "--permission-mode", "plan"};
  task.budget_left = {};
  task.model.clear();
  EXPECT_EQ(
      agent_command(task, true),
      (std::vector<std::string>{"my-claude", "--permission-mode", "plan", "-p", "--output-format",
                                "stream-json", "--verbose", "--resume", "before"}));
  task.agent = Agent::codex;
  task.command.clear();
  EXPECT_EQ(agent_command(task, true),
            (std::vector<std::string>{"codex", "exec", "--json", "--skip-git-repo-check",
                                      "--sandbox", "workspace-write", "resume", "before", "-"}));
  EXPECT_EQ(agent_command(task, true, "", "/job/last_message"),
            (std::vector<std::string>{"codex", "exec", "--json", "--skip-git-repo-check",
                                      "--sandbox", "workspace-write", "--output-last-message",
                                      "/job/last_message", "resume", "before", "-"}));
  // A4: codex ignores the variable.
  EXPECT_EQ(agent_command(task, false, "http://localhost:1/v1"),
            (std::vector<std::string>{"codex", "exec", "--json", "--skip-git-repo-check",
                                      "--sandbox", "workspace-write", "-c",
                                      "openai_base_url=\"http://localhost:1/v1\"", "-"}));
}

// An account that pays for what is beyond its plan goes on, so its limit isn't why a call failed.
TEST(ClaudeTranscript, ALimitThatIsPaidForStopsNothing) {  // A6
  const auto report_after = [](const std::vector<std::string>& infos) {
    const auto transcript = claude_transcript();
    for (const std::string& info : infos) {
      transcript->line(R"({"type":"rate_limit_event","rate_limit_info":{"resetsAt":1762952400,)" +
                       info + "}}");
    }
    return transcript->report();
  };
  const std::string rejected = R"("status":"rejected")";
  EXPECT_TRUE(report_after({rejected}).quota_refused);
  EXPECT_TRUE(report_after({rejected + R"(,"isUsingOverage":false)"}).quota_refused);
  for (const auto& infos : {std::vector<std::string>{rejected + R"(,"isUsingOverage":true)"},
                            {rejected, R"("status":"allowed")"}}) {
    const AgentReport report = report_after(infos);
    EXPECT_FALSE(report.quota_refused);
    EXPECT_FALSE(report.quota_reset_at_ns);
  }
}

}  // namespace
}  // namespace signalbox
