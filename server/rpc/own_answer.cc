#include "server/rpc/own_answer.h"

#include <utility>

#include "server/rpc/error_json.h"
#include "server/text/json_text.h"

namespace signalbox {
namespace {

namespace json = boost::json;

ErrorCode code_of_failure(OwnCommandFailure::Kind kind) {
  switch (kind) {
    case OwnCommandFailure::Kind::shortage:
    case OwnCommandFailure::Kind::late:
    case OwnCommandFailure::Kind::memory:
      return ErrorCode::OVERLOADED;
    case OwnCommandFailure::Kind::stopped:
      return ErrorCode::SHUTTING_DOWN;
    case OwnCommandFailure::Kind::broken:
      return ErrorCode::INTERNAL;
  }
  return ErrorCode::INTERNAL;
}

}  // namespace

Decided<json::object> answer_of_own_command(const OwnCommand& command,
                                            const OwnAnswerTexts& texts) {
  const auto failed = [&texts](ErrorCode code, const std::string& why) {
    return reject(code, texts.consequence + why, {}, texts.next_commands);
  };
  const auto printed = run_own_command(command);
  if (!printed) return failed(code_of_failure(printed.error().kind), printed.error().why);
  json::error_code wrong;
  json::value answer = parse_answer(*printed, wrong);
  if (wrong || !answer.is_object()) {
    return failed(ErrorCode::INTERNAL, "its process printed no answer");
  }
  if (json::value* const result = answer.get_object().if_contains("result");
      result != nullptr && result->is_object()) {
    return std::move(result->get_object());
  }
  const json::value* const error = answer.get_object().if_contains("error");
  if (error == nullptr || !error->is_object()) {
    return failed(ErrorCode::INTERNAL, "its process printed no result");
  }
  return tl::unexpected(rejection_from_json(error->get_object(), texts.field));
}

}  // namespace signalbox
