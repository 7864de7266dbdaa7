#include "server/executors/coderunner/agent_error.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "server/executors/coderunner/usage_limit.h"

namespace signalbox {
namespace {

// The cause of an error, whatever the agent and its service call it.
enum class ErrorCause { credentials, model, limit, service, request };

struct NamedCause {
  std::string_view name;
  ErrorCause cause;
};

// The field `error` of claude, and the types and codes of errors of both services.
constexpr std::array<NamedCause, 25> named_causes = {{
    {"authentication_failed", ErrorCause::credentials},
    {"authentication_error", ErrorCause::credentials},
    {"oauth_org_not_allowed", ErrorCause::credentials},
    {"permission_error", ErrorCause::credentials},
    {"billing_error", ErrorCause::credentials},
    {"invalid_api_key", ErrorCause::credentials},
    {"model_not_found", ErrorCause::model},
    {"not_found_error", ErrorCause::model},
    {"rate_limit", ErrorCause::limit},
    {"rate_limit_error", ErrorCause::limit},
    {"rate_limit_exceeded", ErrorCause::limit},
    {"usage_limit_reached", ErrorCause::limit},
    {"insufficient_quota", ErrorCause::limit},
    {"server_error", ErrorCause::service},
    {"api_error", ErrorCause::service},
    {"timeout_error", ErrorCause::service},
    {"overloaded", ErrorCause::service},
    {"overloaded_error", ErrorCause::service},
    {"server_is_overloaded", ErrorCause::service},
    {"slow_down", ErrorCause::service},
    {"invalid_request", ErrorCause::request},
    {"invalid_request_error", ErrorCause::request},
    {"request_too_large", ErrorCause::request},
    {"context_length_exceeded", ErrorCause::request},
    {"max_output_tokens", ErrorCause::request},
}};

std::optional<ErrorCause> cause_of_kind(std::string_view kind) {
  const auto* const found =
      std::find_if(named_causes.begin(), named_causes.end(),
                   [kind](const NamedCause& each) { return each.name == kind; });
  if (found == named_causes.end()) return std::nullopt;
  return found->cause;
}

// Returns the cause for statuses that say more than the error's kind.
std::optional<ErrorCause> cause_of_status(int status) {
  if (status == 401 || status == 402 || status == 403) return ErrorCause::credentials;
  if (status == 404) return ErrorCause::model;
  if (status == 429) return ErrorCause::limit;
  if (status == 408 || status >= 500) return ErrorCause::service;
  return std::nullopt;
}

bool has_words(const std::string& text, std::initializer_list<const char*> words) {
  return std::any_of(words.begin(), words.end(),
                     [&text](const char* word) { return text.find(word) != std::string::npos; });
}

std::optional<ErrorCause> cause_of_data(const AgentReport& report) {
  if (report.quota_refused) return ErrorCause::limit;
  if (const auto cause = cause_of_status(report.api_status)) return cause;
  if (const auto cause = cause_of_kind(report.error_kind)) return cause;
  if (report.api_status >= 400) return ErrorCause::request;
  return std::nullopt;
}

std::optional<ErrorCause> cause_of_text(const std::string& text) {
  if (mentions_usage_limit(text)) return ErrorCause::limit;
  if (names_bad_credentials(text)) return ErrorCause::credentials;
  if (names_service_trouble(text)) return ErrorCause::service;
  if (has_words(text, {"issue with the selected model", "model_not_found",
                       "does not exist or you do not have access"})) {
    return ErrorCause::model;
  }
  if (has_words(text, {"Prompt is too long", "invalid_request_error"})) return ErrorCause::request;
  return std::nullopt;
}

AgentFailure failure_for(ErrorCause cause, const std::string& text) {
  switch (cause) {
    case ErrorCause::credentials:
      return {ErrorClass::config, "AGENT_NOT_LOGGED_IN", text};
    case ErrorCause::model:
      return {ErrorClass::config, "AGENT_MODEL_NOT_FOUND", text};
    case ErrorCause::limit:
      return {ErrorClass::quota, "USAGE_LIMIT", text};
    case ErrorCause::service:
      return {ErrorClass::transient, "AGENT_ERROR", text};
    case ErrorCause::request:
      break;
  }
  return {ErrorClass::terminal, "AGENT_ERROR", text};
}

// Returns what the report has as data about an error of no known kind.
std::string unknown_data(const AgentReport& report) {
  std::string data;
  const auto add = [&data](const std::string& part) {
    data += (data.empty() ? " (" : ", ") + part;
  };
  if (!report.error_kind.empty()) add("error " + report.error_kind);
  if (report.api_status != 0) add("status " + std::to_string(report.api_status));
  if (!report.subtype.empty() && report.subtype != "success") add("subtype " + report.subtype);
  return data.empty() ? data : data + ")";
}

}  // namespace

AgentFailure classify_error(const AgentReport& report) {
  const std::string text = report.error_text.empty() ? report.subtype : report.error_text;
  if (report.subtype == "error_max_turns") {
    return {ErrorClass::transient, "AGENT_MAX_TURNS", "it used all its turns: " + text};
  }
  if (report.subtype == "error_max_budget_usd") {
    return {ErrorClass::transient, "AGENT_MAX_BUDGET", "it used all its money: " + text};
  }
  if (const auto cause = cause_of_data(report)) return failure_for(*cause, text);
  if (const auto cause = cause_of_text(text)) return failure_for(*cause, text);
  if (report.subtype == "error_during_execution") {
    return {ErrorClass::transient, "AGENT_ERROR", text};
  }
  return {ErrorClass::terminal, "AGENT_ERROR",
          "an error of no known kind" + unknown_data(report) + ": " + text};
}

bool names_bad_credentials(const std::string& text) {
  // codex's token or session, which only a person's login renews.
  if (has_words(text, {"could not be refreshed"}) &&
      has_words(text, {"sign in again", "session"})) {
    return true;
  }
  return has_words(
      text, {"Invalid API key", "Please run /login", "authentication_failed",
             "authentication_error", "OAuth token has expired", "Not logged in", "401 Unauthorized",
             "403 Forbidden", "Incorrect API key", "billing_error", "Credit balance is too low"});
}

bool names_service_trouble(const std::string& text) {
  return has_words(
      text, {"API Error: 5", "Overloaded", "overloaded_error", "server_error", "Connection error",
             "Unable to connect", "Request timed out", "stream disconnected",
             "exceeded retry limit", "experiencing high demand", "high load", "at capacity",
             "error sending request", "ECONNRESET", "ECONNREFUSED", "ETIMEDOUT", "ENOTFOUND"});
}

}  // namespace signalbox
