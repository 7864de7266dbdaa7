#include "server/transport/http/problem.h"

#include <boost/beast/http/status.hpp>
#include <boost/describe/enum_from_string.hpp>
#include <boost/json/serialize.hpp>

#include "server/rpc/error_json.h"

namespace signalbox {
namespace {

namespace json = boost::json;

const char* const retry_after_s = "1";

HttpAnswer problem_of(unsigned status, json::string_view message, const json::object& data) {
  json::object object;
  const std::string code(data.at("code").as_string());
  const json::value* const url = data.at("details").as_object().if_contains("url");
  if (status == 307 && url == nullptr) status = 503;  // nobody is known who could be asked
  object["type"] = "urn:signalbox:error:" + code;
  object["title"] = boost::beast::http::obsolete_reason(boost::beast::http::int_to_status(status));
  object["status"] = status;
  object["detail"] = message;
  object["code"] = code;
  object["details"] = data.at("details");
  object["next_commands"] = data.at("next_commands");
  HttpAnswer answer;
  answer.status = status;
  answer.media_type = "application/problem+json";
  answer.body = json::serialize(object) + "\n";
  if (status == 401) answer.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"signalbox\"");
  if (status == 307) {
    // The session adds the target of the request.
    answer.headers.emplace_back("Location", std::string(url->as_string()));
  }
  if (status == 429 || status == 503) answer.headers.emplace_back("Retry-After", retry_after_s);
  return answer;
}

}  // namespace

unsigned status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::PARSE_ERROR:
    case ErrorCode::INVALID_REQUEST:
      return 400;
    case ErrorCode::INVALID_PARAMS:
    case ErrorCode::PIPELINE_INVALID:
    case ErrorCode::PLAN_INVALID:
    case ErrorCode::LIMIT_EXCEEDED:
      return 422;
    case ErrorCode::UNAUTHENTICATED:
      return 401;
    case ErrorCode::NOT_ALLOWED:
    case ErrorCode::FORBIDDEN:
      return 403;
    case ErrorCode::METHOD_NOT_FOUND:
    case ErrorCode::RUN_NOT_FOUND:
    case ErrorCode::STATION_NOT_FOUND:
    case ErrorCode::POSITION_NOT_FOUND:
    case ErrorCode::ARTIFACT_NOT_FOUND:
    case ErrorCode::PLAN_NOT_FOUND:
    case ErrorCode::STEP_NOT_FOUND:
    case ErrorCode::PROJECT_NOT_FOUND:
    case ErrorCode::CARD_NOT_FOUND:
    case ErrorCode::LOOP_NOT_FOUND:
    case ErrorCode::ACCESS_TOKEN_NOT_FOUND:
    case ErrorCode::RUNNER_NOT_FOUND:
      return 404;
    case ErrorCode::HISTORY_DROPPED:
    case ErrorCode::FILES_REMOVED:
    case ErrorCode::RUNNER_EVICTED:
      return 410;
    case ErrorCode::RUN_TERMINAL:
    case ErrorCode::STATION_ORDER:
    case ErrorCode::STATION_ALREADY_SUCCEEDED:
    case ErrorCode::STATION_NOT_CLAIMED:
    case ErrorCode::STATION_NOT_CLAIMABLE:
    case ErrorCode::STALE_TOKEN:
    case ErrorCode::IDEMPOTENCY_CONFLICT:
    case ErrorCode::ACCESS_TOKEN_EXISTS:
    case ErrorCode::LOCK_HELD:
    case ErrorCode::LOCK_NOT_OWNED:
    case ErrorCode::LOCK_LOST:
    case ErrorCode::TICK_IN_PROGRESS:
    case ErrorCode::PREVIOUS_TICK_INCOMPLETE:
    case ErrorCode::DECISION_REQUIRED:
    case ErrorCode::NOT_WAITING_FOR_APPROVAL:
    case ErrorCode::BUDGET_EXHAUSTED:
    case ErrorCode::RUN_NOT_FAILED:
    case ErrorCode::RUN_ROOT_TAKEN:
    case ErrorCode::OUTDATED:
    case ErrorCode::PLAN_ORDER:
    case ErrorCode::CARD_BUSY:
    case ErrorCode::NOTHING_TO_REDACT:
    case ErrorCode::REDACTION_IMPOSSIBLE:
    case ErrorCode::REDACTION_NEEDS_STOP:
    case ErrorCode::AMBIGUOUS_ID:
    case ErrorCode::CELL_UPGRADE_NEEDED:
      return 409;
    case ErrorCode::OVERLOADED:
      return 429;
    case ErrorCode::INTERNAL:
    case ErrorCode::STORAGE_DAMAGED:
    case ErrorCode::GIT_FAILED:
      return 500;
    case ErrorCode::NOT_ACTIVE:
      return 307;
    case ErrorCode::UNKNOWN_OUTCOME:
    case ErrorCode::STORAGE_FULL:
    case ErrorCode::STORAGE_AWAY:
    case ErrorCode::SHUTTING_DOWN:
    case ErrorCode::READ_MODELS_REBUILDING:
      return 503;
  }
  return 500;
}

HttpAnswer problem(const Rejection& rejection) {
  return problem(status_of(rejection.code), rejection);
}

HttpAnswer problem(unsigned status, const Rejection& rejection) {
  return problem_of(status, rejection.message, rejection_data(rejection));
}

HttpAnswer problem(const json::object& error) {
  const json::object& data = error.at("data").as_object();
  ErrorCode code = ErrorCode::INTERNAL;
  boost::describe::enum_from_string(data.at("code").as_string().c_str(), code);
  return problem_of(status_of(code), error.at("message").as_string(), data);
}

}  // namespace signalbox
