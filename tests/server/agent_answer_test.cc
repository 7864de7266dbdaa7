// Tests what becomes of an agent's answer: whether it has a verdict on the work, over several
// results of one process, and whether the model was asked at all.
#include <gtest/gtest.h>

#include "server/executors/coderunner/agent_verdict.h"
#include "tests/server/executor_fixture.h"

namespace signalbox {
namespace {

std::string printed_answer(const std::string& text, const std::string& more = "") {
  return R"({"type":"result","subtype":"success","is_error":false,"session_id":"s","result":")" +
         text + "\"" + more + "}";
}
const std::string next_turn = R"({"type":"assistant","message":{"id":"n","content":[]}})";

// Returns the code of the failure after which claude has printed these lines, or its answer.
std::string end_of_lines(const std::vector<std::string>& lines, bool asks_for_verdict = false) {
  const auto transcript = claude_transcript();
  for (const std::string& line : lines) transcript->line(line);
  AgentTask task;
  task.mode = CoderunnerMode::process;
  task.asks_for_verdict = asks_for_verdict;
  AgentEnd end;
  end.exit_code = 0;
  const DeclaredResult result = agent_verdict(task, transcript->report(), {}, end, false, 0);
  return result.error_code.value_or(result.summary.value_or(""));
}

TEST(AgentAnswer, IsNoSuccessWithoutTheVerdictThatWasAskedFor) {  // S7
  const std::vector<std::pair<std::string, std::string>> cases{
      {"I'll finalize the verdict when the notification arrives.", "VERDICT_MISSING"},
      {"I can't help with that.", "VERDICT_MISSING"},
      {" ", "VERDICT_MISSING"},
      {"The last line is to be VERDICT: PASS", "VERDICT_MISSING"},
      {"VERDICT: PASS\\nonce the tests have run", "VERDICT_MISSING"},
      {"**VERDICT:** FAIL", "VERDICT_FAIL"},
      {"It fails.\\n\\n### VERDICT: FAIL.\\n```\\n", "VERDICT_FAIL"},
  };
  for (const auto& [text, code] : cases) {
    EXPECT_EQ(end_of_lines({printed_answer(text)}, true), code) << text;
  }
  for (const std::string text : {"VERDICT: PASS", "**VERDICT:** PASS", "`VERDICT: PASS`."}) {
    EXPECT_EQ(end_of_lines({printed_answer(text)}, true), text);
  }
  EXPECT_EQ(end_of_lines({printed_answer("It adds.")}), "It adds.");
}

// A task in the background that ends has the agent go on after its result.
TEST(AgentAnswer, KeepsItsVerdictUntilAnotherOne) {  // S7
  const std::string pass = "It adds.\\nVERDICT: PASS";
  const std::string fail = "VERDICT: FAIL";
  for (const std::string later : {"", " ", "The task has ended; nothing changes."}) {
    EXPECT_EQ(end_of_lines({printed_answer(fail), next_turn, printed_answer(later)}),
              "VERDICT_FAIL");
    EXPECT_EQ(end_of_lines({printed_answer(pass), next_turn, printed_answer(later)}, true),
              "It adds.\nVERDICT: PASS");
  }
  EXPECT_EQ(end_of_lines({printed_answer(fail), next_turn, printed_answer(pass)}),
            "It adds.\nVERDICT: PASS");
  EXPECT_EQ(end_of_lines({printed_answer(pass), next_turn, printed_answer(fail)}), "VERDICT_FAIL");
  EXPECT_EQ(end_of_lines({printed_answer("It adds."), next_turn, printed_answer("")}), "It adds.");
  EXPECT_EQ(end_of_lines({printed_answer("I wait."), next_turn, printed_answer("It adds.")}),
            "It adds.");
}

// The two lines are those of claude's own command /cost and of an unknown one.
TEST(AgentAnswer, IsntThatOfTheProgramAlone) {  // S7
  const std::string no_work =
      R"(,"num_turns":0,"total_cost_usd":0,"usage":{"input_tokens":0,"output_tokens":0},"modelUsage":{})";
  EXPECT_EQ(end_of_lines({printed_answer("Total cost: $0.0000", no_work)}), "AGENT_NO_RESULT");
  EXPECT_EQ(end_of_lines({printed_answer("Unknown command: /nosuch", no_work)}), "AGENT_NO_RESULT");
  const std::string work = R"(,"num_turns":1,"usage":{"input_tokens":5,"output_tokens":1})";
  EXPECT_EQ(
      end_of_lines({printed_answer("It adds.", work), next_turn, printed_answer("", no_work)}),
      "It adds.");
}

class AskedAgent : public ::testing::Test {
 protected:
  [[nodiscard]] Job asked(const std::string& station, const std::string& prompt = "") {
    Job job = site.job(station);
    job.definition.executor = ExecutorKind::coderunner;
    job.definition.coderunner = {Agent::claude, CoderunnerMode::process, prompt, ""};
    return job;
  }

  ExecutorSite site;
};

TEST_F(AskedAgent, GivesAVerdictToTheDefaultPromptOfVerify) {  // S7
  EXPECT_TRUE(agent_task(asked("verify")).asks_for_verdict);
  EXPECT_FALSE(agent_task(asked("verify", "Judge it.")).asks_for_verdict);
  EXPECT_FALSE(agent_task(asked("implement")).asks_for_verdict);
  for (const char* station : {"verify", "implement"}) {
    EXPECT_NE(agent_task(asked(station)).prompt.find("in the foreground"), std::string::npos);
  }
  Job job = asked("verify");
  const std::filesystem::path agent = site.root() / "agent";
  write_text(agent,
             "#!/bin/sh\ncat <<'LINE'\n" + printed_answer("I wait for the tests.") + "\nLINE\n");
  std::filesystem::permissions(agent, std::filesystem::perms::owner_all);
  job.definition.command = {agent.string()};
  const JobResult result = run_to_end(*site.executor(), job);
  EXPECT_EQ(result.failure.code, "VERDICT_MISSING");
  EXPECT_EQ(result.failure.error_class, ErrorClass::transient) << "its session goes on";
  EXPECT_NE(result.result.summary.find("I wait for the tests."), std::string::npos);
}

// claude takes a prompt that begins so for one of its commands, and reports success.
TEST_F(AskedAgent, IsntGivenACommandByAGoalThatBeginsWithASlash) {  // S7
  Job job = asked("implement", "\n{{goal}}");
  job.goal = "/cost";
  EXPECT_EQ(agent_task(job).prompt, "Do the following.\n\n\n/cost");
  job = asked("implement", "/review {{goal}}");
  EXPECT_EQ(agent_task(job).prompt, "/review " + job.goal) << "it is the pipeline's own";
}

}  // namespace
}  // namespace signalbox
