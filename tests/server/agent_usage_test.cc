// Tests what attempts have used by an agent's own reports: of one process or of a whole session,
// with several results, with subagents, and with processes that were killed.
#include <gtest/gtest.h>

#include "server/executors/coderunner/agent_transcript.h"
#include "server/executors/coderunner/session_usage.h"
#include "tests/fixtures/temporary_directory.h"

namespace signalbox {
namespace {

std::string assistant_line(const std::string& id, const std::string& more = "") {
  return R"({"type":"assistant","message":{"id":")" + id +
         R"(","content":[],"usage":{"input_tokens":1000,"output_tokens":1}})" + more + "}";
}
std::string claude_result(int input, int output, double usd, int model_input, int model_output) {
  return R"({"type":"result","subtype":"success","is_error":false,"result":"ok","num_turns":1,)"
         R"("usage":{"input_tokens":)" +
         std::to_string(input) + R"(,"output_tokens":)" + std::to_string(output) +
         R"(},"total_cost_usd":)" + std::to_string(usd) +
         R"(,"modelUsage":{"claude-sonnet-4-5":{"inputTokens":)" + std::to_string(model_input) +
         R"(,"outputTokens":)" + std::to_string(model_output) + "}}}";
}
AgentReport report_of(std::unique_ptr<AgentTranscript> transcript,
                      const std::vector<std::string>& lines) {
  for (const std::string& line : lines) transcript->line(line);
  return transcript->report();
}

// The calls of one session; each but the first continues it.
class SessionCalls {
 public:
  // Returns what the attempt with this report declares.
  Usage end(const AgentReport& report) {
    const SettledCall settled = settle_call(report, account_, calls_++ > 0);
    account_ = settled.account;
    is_estimate_ = settled.is_estimate;
    return add(usage_of(settled.counts, report.turns));
  }
  // A process with this report is killed before it can declare anything. Returns what is declared
  // for it.
  Usage kill(const AgentReport& report) {
    ++calls_;
    account_.undeclared = report.seen;
    const SettledCall settled = settle_lost_call(account_);
    account_ = settled.account;
    return add(usage_of(settled.counts, report.turns));
  }
  [[nodiscard]] const Usage& sum() const { return sum_; }
  // Returns whether what the latest call declared at its end is an estimate.
  [[nodiscard]] bool is_estimate() const { return is_estimate_; }

 private:
  Usage add(const Usage& usage) {
    sum_ = {sum_.cost_microusd + usage.cost_microusd, sum_.tokens + usage.tokens,
            sum_.turns + usage.turns};
    return usage;
  }

  SessionAccount account_;
  bool is_estimate_ = false;
  int calls_ = 0;
  Usage sum_;
};

TEST(SessionUsage, TotalsOfASessionAreCountedOnce) {  // A5
  SessionCalls calls;
  for (const int turn : {1, 2, 3}) {
    const Usage usage = calls.end(report_of(
        claude_transcript(), {assistant_line("m" + std::to_string(turn)),
                              claude_result(1000, 100, 0.01212 * turn, 1000 * turn, 100 * turn)}));
    EXPECT_EQ(usage, (Usage{12'120, 1100, 1})) << turn;
  }
  EXPECT_EQ(calls.sum(), (Usage{36'360, 3300, 3}));
}

TEST(SessionUsage, TotalsOfProcessesAreAdded) {  // A5
  SessionCalls calls;
  // What a process has used may be more than all before it.
  for (const int messages : {1, 3, 1, 5}) {
    std::vector<std::string> lines;
    for (int each = 0; each < messages; ++each)
      lines.push_back(assistant_line(std::to_string(each)));
    lines.push_back(claude_result(1000 * messages, 100 * messages, 0.01 * messages, 1000 * messages,
                                  100 * messages));
    const Usage usage = calls.end(report_of(claude_transcript(), lines));
    EXPECT_EQ(usage, (Usage{10'000 * messages, 1100 * messages, 1})) << messages;
  }
}

// An agent goes on after a result once a task in the background has ended.
TEST(SessionUsage, WhatIsPrintedAfterTheLastResultIsCounted) {  // A5
  for (const bool is_resumed : {false, true}) {
    SessionCalls calls;
    const Usage usage = calls.end(report_of(
        claude_transcript(), {assistant_line("a"), claude_result(1000, 100, 0.012, 1000, 100),
                              assistant_line("b"), assistant_line("c")}));
    // Two more of 1000 and 1 tokens, at 8 micro-dollars for one of input.
    EXPECT_EQ(usage, (Usage{12'000 + 16'080, 1100 + 2002, 3}));
    EXPECT_TRUE(calls.is_estimate());
    if (!is_resumed) continue;
    // The session's next total has them.
    calls.end(report_of(claude_transcript(),
                        {assistant_line("d"), claude_result(1000, 100, 0.04, 4000, 210)}));
    EXPECT_EQ(calls.sum(), (Usage{40'000, 4210, 4}));
  }
}

TEST(SessionUsage, WhatIsPrintedAfterAResultOfAResumedSessionIsNoTotal) {  // A5
  SessionCalls calls;
  calls.end(report_of(claude_transcript(),
                      {assistant_line("a"), claude_result(1000, 100, 0.012, 1000, 100)}));
  const Usage usage = calls.end(report_of(
      claude_transcript(),
      {assistant_line("b"), claude_result(1000, 100, 0.024, 2000, 200), assistant_line("c")}));
  // One more of 1000 and 1 tokens.
  EXPECT_EQ(usage, (Usage{12'000 + 8'040, 1100 + 1001, 2}));
}

// codex prints no figures before the end of a turn.
TEST(SessionUsage, ATurnWithoutFiguresIsAnEstimate) {  // A5
  SessionCalls calls;
  EXPECT_EQ(calls.end(report_of(codex_transcript(), {R"({"type":"thread.started","thread_id":"t"})",
                                                     R"({"type":"turn.started"})"})),
            (Usage{0, 0, 1}));
  EXPECT_TRUE(calls.is_estimate());
}

// As of `--output-format json`: without messages, and the same each time.
TEST(SessionUsage, ResultsAloneAreOfProcesses) {  // A5
  SessionCalls calls;
  const std::string result =
      R"({"type":"result","subtype":"success","result":"ok","num_turns":1,"total_cost_usd":0.5,)"
      R"("usage":{"input_tokens":50,"output_tokens":50}})";
  calls.end(report_of(claude_transcript(), {result}));
  calls.end(report_of(claude_transcript(), {result}));
  EXPECT_EQ(calls.sum(), (Usage{1'000'000, 200, 2}));
}

TEST(SessionUsage, WhatAKilledProcessPrintedIsCounted) {  // A5
  SessionCalls of_processes;
  of_processes.end(report_of(claude_transcript(),
                             {assistant_line("a"), claude_result(1000, 100, 0.01, 1000, 100)}));
  // It is declared for the job that was lost, with a cost by the rate of the session.
  EXPECT_EQ(
      of_processes.kill(report_of(claude_transcript(), {assistant_line("b"), assistant_line("c")})),
      (Usage{13'400, 2002, 2}));
  EXPECT_EQ(
      of_processes.end(report_of(claude_transcript(),
                                 {assistant_line("d"), claude_result(1000, 100, 0.01, 1000, 100)})),
      (Usage{10'000, 1100, 1}));
  EXPECT_TRUE(of_processes.is_estimate());
  // The total of a session has it if the agent had stored it by then. Else its cost is estimated.
  const auto after_a_kill = [](int input, int output, double usd) {
    SessionCalls of_session;
    of_session.end(report_of(claude_transcript(),
                             {assistant_line("a"), claude_result(1000, 100, 0.0045, 1000, 100)}));
    of_session.kill(report_of(claude_transcript(), {assistant_line("b"), assistant_line("c")}));
    of_session.end(report_of(claude_transcript(),
                             {assistant_line("d"), claude_result(1000, 100, usd, input, output)}));
    return of_session.sum();
  };
  EXPECT_EQ(after_a_kill(4000, 400, 0.018), (Usage{18'000, 4400, 4}));
  EXPECT_EQ(after_a_kill(2000, 200, 0.009), (Usage{9000 + 3 * 2010, 4202, 4}));
}

// After TERM an attempt declares what was printed, and the agent stores what it used.
TEST(SessionUsage, WhatATimedOutAttemptDeclaredIsntCountedAgain) {  // A5
  SessionCalls calls;
  calls.end(report_of(claude_transcript(),
                      {assistant_line("a"), claude_result(1000, 100, 0.0045, 1000, 100)}));
  EXPECT_FALSE(calls.is_estimate());
  EXPECT_EQ(calls.end(report_of(claude_transcript(), {assistant_line("b")})),
            (Usage{3 * 1005, 1001, 1}));
  EXPECT_TRUE(calls.is_estimate());
  calls.end(report_of(claude_transcript(),
                      {assistant_line("c"), claude_result(1000, 100, 0.0135, 3000, 300)}));
  EXPECT_EQ(calls.sum(), (Usage{13'500, 3300, 3}));
  calls.end(report_of(claude_transcript(),
                      {assistant_line("d"), claude_result(1000, 100, 0.018, 4000, 400)}));
  EXPECT_EQ(calls.sum(), (Usage{18'000, 4400, 4}));
  // Without such a store its cost is estimated, as soon as there is a total.
  SessionCalls of_processes;
  EXPECT_EQ(of_processes.end(report_of(claude_transcript(), {assistant_line("a")})),
            (Usage{0, 1001, 1}));
  of_processes.end(report_of(claude_transcript(),
                             {assistant_line("b"), claude_result(1000, 100, 0.0045, 1000, 100)}));
  EXPECT_EQ(of_processes.sum(), (Usage{4500 + 3 * 1005, 2101, 2}));
}

TEST(SessionUsage, CodexReportsTheTotalOfItsThread) {  // A5
  const auto turn = [](int input, int cached, int output) {
    return report_of(
        codex_transcript(),
        {R"({"type":"thread.started","thread_id":"t"})", R"({"type":"turn.started"})",
         R"({"type":"turn.completed","usage":{"input_tokens":)" + std::to_string(input) +
             R"(,"cached_input_tokens":)" + std::to_string(cached) + R"(,"output_tokens":)" +
             std::to_string(output) + "}}"});
  };
  SessionCalls calls;
  EXPECT_EQ(calls.end(turn(1000, 400, 100)), (Usage{0, 1100, 1}));
  EXPECT_EQ(calls.end(turn(2000, 800, 200)), (Usage{0, 1100, 1}));
  // A turn that failed reports nothing; the next total has it.
  EXPECT_EQ(calls.end(report_of(codex_transcript(),
                                {R"({"type":"turn.started"})",
                                 R"({"type":"turn.failed","error":{"message":"x"}})"})),
            (Usage{0, 0, 1}));
  EXPECT_EQ(calls.end(turn(4000, 1600, 400)), (Usage{0, 2200, 1}));
  // Tokens that were counted as not cached are counted as cached now.
  EXPECT_EQ(calls.end(turn(5000, 4800, 500)), (Usage{0, 1100, 1}));
}

TEST(ClaudeTranscript, EachResultOfAProcessCounts) {  // A5
  const AgentReport report = report_of(
      claude_transcript(), {assistant_line("a"), claude_result(1000, 100, 0.5, 700'000, 100),
                            R"({"type":"system","subtype":"task_notification","task_id":"t"})",
                            assistant_line("b"), claude_result(1500, 50, 2.5, 1'270'000, 1000)});
  EXPECT_TRUE(report.has_result);
  EXPECT_EQ(report.usage(), (Usage{2'500'000, 1'271'000, 2})) << "subagents are in modelUsage only";
  // Without modelUsage, the results are added; the cost is a total in either case.
  const std::string plain =
      R"({"type":"result","subtype":"success","result":"ok","num_turns":2,"total_cost_usd":0.25,)"
      R"("usage":{"input_tokens":10,"output_tokens":5}})";
  EXPECT_EQ(report_of(claude_transcript(), {plain, assistant_line("c"), plain}).usage(),
            (Usage{250'000, 30, 4}));
}

TEST(ClaudeTranscript, ATurnAfterAResultHasToEndAsWell) {  // A5
  const std::string ended = claude_result(1000, 100, 0.5, 1000, 100);
  const std::string started = R"({"type":"system","subtype":"task_started","task_id":"t"})";
  const std::string notified = R"({"type":"system","subtype":"task_notification","task_id":"t"})";
  EXPECT_TRUE(report_of(claude_transcript(), {started, ended}).has_open_tasks);
  EXPECT_FALSE(report_of(claude_transcript(), {started, ended, notified}).has_open_tasks);
  const std::string none = R"({"type":"system","subtype":"background_tasks_changed","tasks":[]})";
  const std::string one =
      R"({"type":"system","subtype":"background_tasks_changed","tasks":[{"task_id":"t"}]})";
  EXPECT_FALSE(report_of(claude_transcript(), {started, none, ended}).has_open_tasks);
  EXPECT_TRUE(report_of(claude_transcript(), {one, ended}).has_open_tasks);
  EXPECT_FALSE(report_of(claude_transcript(), {ended, assistant_line("b")}).has_result);
  EXPECT_TRUE(
      report_of(claude_transcript(), {ended, assistant_line("b", R"(,"parent_tool_use_id":"x")")})
          .has_result)
      << "that of a subagent";
}

TEST(SessionAccount, IsFoundInTheJobOfAnEarlierAttempt) {  // A5
  const TemporaryDirectory jobs;
  const auto directory = [&jobs](int attempt) {
    const auto path = jobs.path() / ("0-implement-" + std::to_string(attempt));
    std::filesystem::create_directories(path);
    return path;
  };
  SessionAccount account;
  account.session = "s";
  account.agents_total.input = 7;
  ASSERT_TRUE(write_account(directory(1), account));
  account.session = "other";
  ASSERT_TRUE(write_account(directory(2), account));
  EXPECT_EQ(account_before(directory(4), 4, "s").agents_total.input, 7);
  EXPECT_EQ(account_before(directory(1), 1, "s").agents_total.input, 0)
      << "that is the attempt itself";
  EXPECT_EQ(account_before(directory(4), 4, "third").agents_total.input, 0);

  // What a killed attempt had printed is declared for its job, and nobody else declares it.
  account.session = "killed";
  account.undeclared.input = 10;
  account.undeclared_turns = 2;
  ASSERT_TRUE(write_account(directory(3), account));
  EXPECT_EQ(usage_of_lost_call(directory(3)), (Usage{0, 10, 2}));
  EXPECT_EQ(usage_of_lost_call(directory(4)), Usage{});
  SessionAccount settled;
  settled.session = "settled";
  settled.agents_total.input = 30;
  settled.used.emplace().input = 20;
  settled.used_turns = 1;
  ASSERT_TRUE(write_account(directory(6), settled));
  EXPECT_EQ(usage_of_lost_call(directory(6)), (Usage{0, 20, 1}));
  EXPECT_FALSE(account_before(directory(7), 7, "settled").used) << "that was another call's";
  EXPECT_EQ(account_before(directory(4), 4, "killed").declared.input, 10);
  EXPECT_EQ(account_before(directory(4), 4, "killed").undeclared.input, 0);
}

}  // namespace
}  // namespace signalbox
