// Tests how errors of agents are classified, with lines as claude and codex print them, and that no
// result is thrown away for its text.
#include <gtest/gtest.h>

#include "server/executors/coderunner/agent_verdict.h"
#include "server/executors/coderunner/line_splitter.h"
#include "server/text/json_text.h"
#include "server/text/utf8_text.h"

namespace signalbox {
namespace {

constexpr std::int64_t error_test_now_ns = 1'762'934'400'000'000'000;

struct AgentCase {
  std::vector<std::string> lines;
  const char* code;
  ErrorClass error_class;
};

DeclaredResult verdict_on(std::unique_ptr<AgentTranscript> transcript, Agent agent,
                          const std::vector<std::string>& lines) {
  for (const std::string& line : lines) transcript->line(line);
  AgentTask task;
  task.mode = CoderunnerMode::process;
  task.agent = agent;
  AgentEnd end;
  end.exit_code = transcript->report().has_result && !transcript->report().is_error ? 0 : 1;
  return agent_verdict(task, transcript->report(), {transcript->report().usage()}, end, false,
                       error_test_now_ns);
}
DeclaredResult claude_verdict(const std::vector<std::string>& lines) {
  return verdict_on(claude_transcript(), Agent::claude, lines);
}
DeclaredResult codex_verdict(const std::vector<std::string>& lines) {
  return verdict_on(codex_transcript(), Agent::codex, lines);
}

// The two lines with which claude ends when the service has refused its request.
std::vector<std::string> refused_claude(const std::string& error, int status,
                                        const std::string& text) {
  return {R"({"type":"assistant","message":{"id":"m","content":[{"type":"text","text":")" + text +
              R"("}]},"parent_tool_use_id":null,"error":")" + error + R"("})",
          R"({"type":"result","subtype":"success","is_error":true,"api_error_status":)" +
              std::to_string(status) + R"(,"num_turns":1,"result":")" + text + R"("})"};
}

TEST(AgentErrors, OfClaudeAreClassifiedByTheirData) {  // A4
  const std::vector<AgentCase> cases{
      {refused_claude("rate_limit", 429, "API Error: Request rejected (429)"), "USAGE_LIMIT",
       ErrorClass::quota},
      {refused_claude("authentication_failed", 401, "Failed to authenticate"),
       "AGENT_NOT_LOGGED_IN", ErrorClass::config},
      {refused_claude("unknown", 403, "API Error: 403 no"), "AGENT_NOT_LOGGED_IN",
       ErrorClass::config},
      {refused_claude("invalid_request", 404, "It may not exist"), "AGENT_MODEL_NOT_FOUND",
       ErrorClass::config},
      {refused_claude("server_error", 500, "API Error: oh"), "AGENT_ERROR", ErrorClass::transient},
      {refused_claude("overloaded", 529, "busy"), "AGENT_ERROR", ErrorClass::transient},
      {refused_claude("invalid_request", 400, "Prompt names a usage limit"), "AGENT_ERROR",
       ErrorClass::terminal},
      {refused_claude("something_new", 0, "?"), "AGENT_ERROR", ErrorClass::terminal},
      {{R"({"type":"result","subtype":"error_of_tomorrow","is_error":true})"},
       "AGENT_ERROR",
       ErrorClass::terminal},
  };
  for (const AgentCase& each : cases) {
    const DeclaredResult result = claude_verdict(each.lines);
    EXPECT_EQ(result.error_code, each.code) << each.lines.back();
    EXPECT_EQ(result.error_class, each.error_class) << each.lines.back();
  }
  const auto message = [](const AgentCase& each) {
    return claude_verdict(each.lines).error_message.value_or("");
  };
  EXPECT_NE(message(cases[7]).find("no known kind (error something_new)"), std::string::npos);
  EXPECT_NE(message(cases[8]).find("subtype error_of_tomorrow"), std::string::npos);
}

TEST(AgentErrors, OfCodexAreClassifiedByStatusOrText) {  // A4
  const auto failed = [](const std::string& message) {
    return std::vector<std::string>{
        R"({"type":"turn.started"})",
        R"({"type":"turn.failed","error":{"message":")" + message + R"("}})"};
  };
  const std::vector<AgentCase> cases{
      {failed("unexpected status 401 Unauthorized: no"), "AGENT_NOT_LOGGED_IN", ErrorClass::config},
      {failed("unexpected status 404 Not Found: no"), "AGENT_MODEL_NOT_FOUND", ErrorClass::config},
      {failed("exceeded retry limit, last status: 429 Too Many Requests"), "USAGE_LIMIT",
       ErrorClass::quota},
      {failed("Quota exceeded. Check your plan and billing details."), "USAGE_LIMIT",
       ErrorClass::quota},
      {failed("We’re currently experiencing high demand, which may cause temporary errors."),
       "AGENT_ERROR", ErrorClass::transient},
      {failed("You’ve hit your usage limit. Try again later."), "USAGE_LIMIT", ErrorClass::quota},
      {failed("The model `x` does not exist or you do not have access to it."),
       "AGENT_MODEL_NOT_FOUND", ErrorClass::config},
      {failed("stream disconnected before completion"), "AGENT_ERROR", ErrorClass::transient},
      {failed(
           R"({\"error\":{\"type\":\"invalid_request_error\",\"message\":\"no\"},\"status\":400})"),
       "AGENT_ERROR", ErrorClass::terminal},
      {failed("Your workspace is out of credits. Add credits to continue."), "USAGE_LIMIT",
       ErrorClass::quota},
      {failed("Your workspace is out of credits. Ask your workspace owner to refill in order to "
              "continue."),
       "USAGE_LIMIT", ErrorClass::quota},
      {failed("You hit your spend cap set in your workspace. Increase your spend cap to continue."),
       "USAGE_LIMIT", ErrorClass::quota},
      {failed("You hit your spend cap set by the owner of your workspace. Ask an owner to increase "
              "your spend cap to continue."),
       "USAGE_LIMIT", ErrorClass::quota},
      {failed("Your access token could not be refreshed because your refresh token was already "
              "used. Please log out and sign in again."),
       "AGENT_NOT_LOGGED_IN", ErrorClass::config},
      {failed("Your access token could not be refreshed because you have since logged out or "
              "signed in to another account. Please sign in again."),
       "AGENT_NOT_LOGGED_IN", ErrorClass::config},
      {failed("Your authentication session could not be refreshed automatically. Please log out "
              "and sign in again."),
       "AGENT_NOT_LOGGED_IN", ErrorClass::config},
      {failed("configured values could not be refreshed: no"), "AGENT_ERROR", ErrorClass::terminal},
      {failed("something else"), "AGENT_ERROR", ErrorClass::terminal},
  };
  for (const AgentCase& each : cases) {
    const DeclaredResult result = codex_verdict(each.lines);
    EXPECT_EQ(result.error_code, each.code) << each.lines.back();
    EXPECT_EQ(result.error_class, each.error_class) << each.lines.back();
  }
  EXPECT_NE(codex_verdict(cases.back().lines).error_message->find("no known kind"),
            std::string::npos);
}

// codex tries a WebSocket first, whose refusal is no part of the turn's error.
TEST(AgentErrors, OfCodexAreThoseOfTheTurn) {  // A4
  const DeclaredResult result = codex_verdict(
      {R"({"type":"turn.started"})",
       R"j({"type":"error","message":"Reconnecting... 2/5 (unexpected status 404 Not Found: no)"})j",
       R"({"type":"turn.failed","error":{"message":"Quota exceeded. Check your plan."}})"});
  EXPECT_EQ(result.error_code, "USAGE_LIMIT");
}

std::string result_line(const std::string& text) {
  return R"({"type":"result","subtype":"success","is_error":false,"result":")" + text + "\"}";
}

TEST(AgentResults, AreNeverThrownAwayForTheirText) {  // A6
  const std::string cut = "\xEF\xBF\xBD";
  const std::vector<std::pair<std::string, std::string>> cases{
      {R"(all done \ud83d)", "all done " + cut},
      {R"(\ude00 \ud83d\ude00 \ud83d\ud83d\ude00)",
       cut + " \xF0\x9F\x98\x80 " + cut + "\xF0\x9F\x98\x80"},
      {R"(\\ud83d)", R"(\ud83d)"},
      {R"(a\u0000b)", "a" + cut + "b"},
      {std::string("a\0b", 3), "a" + cut + "b"},
      {"caf\xE9 \t", "caf" + cut + " \t"},
  };
  for (const auto& [written, read] : cases) {
    const DeclaredResult result = claude_verdict({result_line(written)});
    EXPECT_EQ(result.outcome, Outcome::succeeded) << written;
    EXPECT_EQ(result.summary, read) << written;
  }
}

TEST(AgentResults, AreReadHoweverLongTheirTextIs) {  // A6
  const auto transcript = claude_transcript();
  LineSplitter lines([&transcript](std::string_view line) { transcript->line(line); });
  // Each byte of the text is escaped, and the pieces end anywhere in an escape.
  std::string part;
  for (int each = 0; each < 20'000; ++each) part += R"(\u00e9\"x)";
  lines.add(R"({"type":"result","subtype":"success","is_error":false,"result":")");
  constexpr std::size_t text_bytes = 64 * 1024 * 1024;
  for (std::size_t bytes = 0; bytes < text_bytes; bytes += part.size()) lines.add(part);
  lines.add("\",\"num_turns\":3,\"total_cost_usd\":0.5}\n");
  EXPECT_EQ(transcript->report().invalid_lines, 0U);
  EXPECT_TRUE(transcript->report().has_result);
  EXPECT_EQ(transcript->report().usage(), (Usage{500'000, 0, 3}));
  EXPECT_TRUE(transcript->report().final_text.starts_with("\xC3\xA9\"x\xC3\xA9"));
  EXPECT_EQ(lines.cut_strings(), 1U);
  EXPECT_EQ(lines.dropped_lines(), 0U);
}

TEST(ReadableJson, LeavesGoodJsonAsItIs) {  // A6
  for (const std::string good :
       {R"({"a": "\ud83d\ude00\n\"", "b": [1, "c\\"]})", "{\n\t\"a\": \"\xC3\xA9\"\r\n}", ""}) {
    EXPECT_EQ(readable_json(good), good);
  }
  EXPECT_TRUE(is_utf8(readable_json("\"\\u12\" \"\\")));
}

}  // namespace
}  // namespace signalbox
