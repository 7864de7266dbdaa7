#include "server/executors/coderunner/agent_verdict.h"

#include <algorithm>
#include <cstring>
#include <system_error>

#include <boost/describe/enum_to_string.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "domain/limits.h"
#include "domain/nanoseconds.h"
#include "server/executors/coderunner/agent_command.h"
#include "server/executors/coderunner/agent_error.h"
#include "server/executors/coderunner/agent_prompt.h"
#include "server/executors/coderunner/agent_session.h"
#include "server/executors/coderunner/usage_limit.h"
#include "server/platform/child_process.h"
#include "server/text/time_text.h"
#include "server/text/utf8_text.h"

namespace signalbox {
namespace {

namespace json = boost::json;

// Small enough that the declared result fits into declared_result_bytes_max, however it is escaped.
constexpr std::size_t answer_bytes_max = 32 * 1024;
constexpr std::size_t denied_tools_shown_max = 16;

bool has_one_of(const std::string& text, std::initializer_list<const char*> words) {
  return std::any_of(words.begin(), words.end(),
                     [&text](const char* word) { return text.find(word) != std::string::npos; });
}

std::string exit_text(const AgentEnd& end) {
  if (end.signal) {
    return "killed by signal " + std::to_string(*end.signal) + " (" + strsignal(*end.signal) + ")";
  }
  if (end.exit_code) return "exit code " + std::to_string(*end.exit_code);
  return "ended by us";
}

std::string with_stderr(std::string message, const AgentEnd& end) {
  if (!end.stderr_end.empty()) message += "; stderr: " + end.stderr_end;
  while (!message.empty() && message.back() == '\n') message.pop_back();
  return message;
}

std::string with_install_command(const std::string& message, const AgentTask& task) {
  return task.command.empty() ? message + "; to install it: " + install_command(task.agent)
                              : message;
}

AgentFailure not_started(const AgentTask& task, const AgentEnd& end) {
  const std::string program = agent_command(task, false).front();
  const std::string why = std::generic_category().message(end.start_error);
  if (is_transient_start_error(end.start_error)) {
    return {ErrorClass::transient, "AGENT_NOT_STARTED", "cannot start " + program + ": " + why};
  }
  const std::string message = "the program " + program + " can't be run: " + why;
  return {ErrorClass::config, "CONFIG_MISSING", with_install_command(message, task)};
}

AgentFailure without_result(const AgentTask& task, const AgentReport& report, const AgentEnd& end) {
  const std::string error_note =
      report.error_text.empty() ? "" : "; its error: " + report.error_text;
  if (end.interrupted) {
    return {ErrorClass::transient, "AGENT_INTERRUPTED", "it was stopped before it had a result"};
  }
  if (end.signal) {
    return {ErrorClass::transient, "AGENT_CRASHED",
            with_stderr(exit_text(end) + ", without a result" + error_note, end)};
  }
  if (end.exit_code.value_or(0) != 0) {
    const std::string message =
        with_stderr(exit_text(end) + ", without a result" + error_note, end);
    if (!report.began() && has_one_of(message, {"native binary not installed",
                                                "Could not find native binary package"})) {
      return {ErrorClass::config, "CONFIG_MISSING", with_install_command(message, task)};
    }
    const AgentFailure reported = classify_error(report);
    if (reported.error_class == ErrorClass::config) {
      return {ErrorClass::config, reported.code, message};
    }
    if (names_bad_credentials(message)) return {ErrorClass::config, "AGENT_NOT_LOGGED_IN", message};
    const bool transient = report.began() || names_service_trouble(message);
    return {transient ? ErrorClass::transient : ErrorClass::terminal, "AGENT_EXIT_NONZERO",
            message};
  }
  if (end.cut_off) {
    return {ErrorClass::transient, "AGENT_OUTPUT_TRUNCATED",
            with_stderr("its output ended in the middle of a line, without a result", end)};
  }
  if (report.invalid_lines > 0) {
    return {report.began() ? ErrorClass::transient : ErrorClass::terminal, "AGENT_OUTPUT_INVALID",
            with_stderr("no result; " + std::to_string(report.invalid_lines) +
                            " lines of its output aren't JSON",
                        end)};
  }
  return {ErrorClass::transient, "AGENT_NO_RESULT",
          with_stderr(exit_text(end) + ", without a result" + error_note +
                          (end.dropped_lines > 0 ? "; a line of it was too long" : ""),
                      end)};
}

std::optional<AgentFailure> failure_of(const AgentTask& task, const AgentReport& report,
                                       const AgentEnd& end) {
  if (end.start_error != 0) return not_started(task, end);
  if (!report.has_result) return without_result(task, report, end);
  if (report.is_error) return classify_error(report);
  if (end.exit_code.value_or(0) != 0 && !end.ended_after_result) {
    return AgentFailure{ErrorClass::terminal, "AGENT_EXIT_NONZERO",
                        with_stderr(exit_text(end) + ", though it reported success", end)};
  }
  // Such as an answer of the program itself to what it took for one of its commands.
  if (report.is_without_work) {
    return AgentFailure{ErrorClass::transient, "AGENT_NO_RESULT",
                        "it reported success without a turn or a token: the model wasn't asked"};
  }
  const WorkVerdict verdict = verdict_of(report.final_text);
  if (verdict == WorkVerdict::fail) {
    return AgentFailure{ErrorClass::terminal, "VERDICT_FAIL",
                        "the agent's verdict on the work is FAIL"};
  }
  // An agent that ends its turn to wait for something, or refuses the work, has judged nothing.
  if (verdict == WorkVerdict::none && task.asks_for_verdict) {
    return AgentFailure{ErrorClass::transient, "VERDICT_MISSING",
                        "the last line of its answer is neither VERDICT: PASS nor VERDICT: FAIL"};
  }
  return std::nullopt;
}

// Turns the failure into a USAGE_LIMIT if the agent met one. A usage limit is reported as data, in
// the text of a result, or on stderr.
void apply_quota(const AgentReport& report, const AgentEnd& end, std::int64_t now_ns,
                 AgentFailure& failure, DeclaredResult& result) {
  if (failure.code == "VERDICT_FAIL" || end.start_error != 0 || end.interrupted) return;
  if (failure.code == "AGENT_MAX_TURNS" || failure.code == "AGENT_MAX_BUDGET") return;
  const std::string text = report.error_text + "\n" + (report.has_result ? "" : end.stderr_end);
  const bool is_reported =
      failure.error_class == ErrorClass::quota ||
      (!report.has_result && classify_error(report).error_class == ErrorClass::quota);
  const bool has_data = report.api_status != 0 || !report.error_kind.empty();
  if (!is_reported && (has_data || !mentions_usage_limit(text))) return;
  failure.error_class = ErrorClass::quota;
  failure.code = "USAGE_LIMIT";
  auto reset_at_ns = report.quota_reset_at_ns;
  if (!reset_at_ns) reset_at_ns = usage_limit_reset_at_ns(text, now_ns);
  // A reset time in the past is ignored, because the agent was still refused: the usual backoff
  // applies. One that is just over may not be by the provider's clock.
  if (reset_at_ns && *reset_at_ns <= now_ns && now_ns - *reset_at_ns <= just_over_s * ns_per_s) {
    reset_at_ns = now_ns + ns_per_minute;
  }
  if (reset_at_ns && *reset_at_ns > now_ns) result.quota_reset_at = format_time(*reset_at_ns);
}

std::string metadata_of(const AgentTask& task, const AgentReport& report,
                        const AttemptUsage& attempt, const AgentEnd& end, bool resumed) {
  const Usage& usage = attempt.usage;
  const auto name = [](const std::string& text) { return shortened(text, limits::name_bytes_max); };
  json::object metadata;
  metadata["agent"] = boost::describe::enum_to_string(task.agent, "?");
  metadata["mode"] = boost::describe::enum_to_string(task.mode, "?");
  metadata["session_id"] = name(report.session);
  metadata["resumed"] = resumed;
  if (!report.model.empty()) metadata["model"] = name(report.model);
  metadata["subtype"] = name(report.subtype);
  if (!report.error_kind.empty()) metadata["error_kind"] = name(report.error_kind);
  if (report.api_status != 0) metadata["api_status"] = report.api_status;
  metadata["turns"] = usage.turns;
  metadata["tokens"] = usage.tokens;
  metadata["cost_microusd"] = usage.cost_microusd;
  if (attempt.is_estimate) metadata["usage_estimated"] = true;
  metadata["permission_denials"] = report.denied_tools.size();
  json::array denied;
  for (const std::string& tool : report.denied_tools) {
    if (denied.size() < denied_tools_shown_max) denied.emplace_back(shortened(tool, 64));
  }
  if (!denied.empty()) metadata["denied_tools"] = std::move(denied);
  if (end.exit_code) metadata["exit_code"] = *end.exit_code;
  if (end.ended_after_result) metadata["ended_after_result"] = true;
  if (report.invalid_lines > 0) metadata["invalid_lines"] = report.invalid_lines;
  if (end.dropped_lines > 0) metadata["dropped_lines"] = end.dropped_lines;
  if (end.cut_strings > 0) metadata["cut_strings"] = end.cut_strings;
  std::string text = json::serialize(metadata);
  if (text.size() <= limits::metadata_bytes_max) return text;
  for (const char* foreign : {"denied_tools", "model", "subtype", "error_kind"})
    metadata.erase(foreign);
  return json::serialize(metadata);
}

}  // namespace

DeclaredResult agent_verdict(const AgentTask& task, const AgentReport& report,
                             const AttemptUsage& attempt, const AgentEnd& end, bool resumed,
                             std::int64_t now_ns) {
  DeclaredResult result;
  const Usage& usage = attempt.usage;
  result.usage = DeclaredUsage{usage.cost_microusd, usage.tokens, usage.turns};
  if (!report.session.empty()) {
    result.external_ref =
        shortened(session_ref(task.agent, report.session), limits::path_bytes_max);
  }
  result.metadata = metadata_of(task, report, attempt, end, resumed);
  auto failure = failure_of(task, report, end);
  const std::string answer =
      shortened(report.final_text.empty() ? report.last_text : report.final_text, answer_bytes_max);
  if (!failure) {
    result.outcome = Outcome::succeeded;
    if (!answer.empty()) result.summary = answer;
    return result;
  }
  apply_quota(report, end, now_ns, *failure, result);
  result.outcome = Outcome::failed;
  result.error_class = failure->error_class;
  result.error_code = failure->code;
  result.error_message = shortened(failure->message, limits::reason_bytes_max);
  result.summary = failure->code + ": " + *result.error_message;
  if (!answer.empty() && answer != failure->message) *result.summary += "\n\n" + answer;
  return result;
}

bool session_is_gone(const AgentReport& report, const AgentEnd& end) {
  if (report.turns > 0) return false;
  const std::string text = report.error_text + "\n" + end.stderr_end;
  return has_one_of(
      text, {"No conversation found", "Claude ended this conversation", "Failed to resume session",
             "is running in the background", "no rollout found", "No rollout found",
             "session not found", "Session not found", "thread not found", "empty session file",
             "is archived. Run `codex unarchive"});
}

}  // namespace signalbox
