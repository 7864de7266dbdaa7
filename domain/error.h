// The rejection of a command: error code, message, details and the commands to run next. The
// domain, the protocol and the command line share this one type.
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <utility>
#include <variant>
#include <vector>

#include <boost/describe/enum.hpp>

namespace signalbox {

// The `code` of an error as clients see it. The numbers are JSON-RPC 2.0 error codes
// (-32768…-32000 are reserved by that specification; ours lie in its server range and below).
enum class ErrorCode : std::int32_t {
  // Defined by JSON-RPC 2.0.
  PARSE_ERROR = -32700,
  INVALID_REQUEST = -32600,
  METHOD_NOT_FOUND = -32601,
  INVALID_PARAMS = -32602,
  INTERNAL = -32603,
  // The state doesn't allow the command.
  RUN_NOT_FOUND = -32001,
  RUN_TERMINAL = -32002,
  STATION_NOT_FOUND = -32003,
  STATION_ORDER = -32004,
  STATION_ALREADY_SUCCEEDED = -32005,
  STATION_NOT_CLAIMED = -32006,
  STATION_NOT_CLAIMABLE = -32007,
  STALE_TOKEN = -32008,
  IDEMPOTENCY_CONFLICT = -32009,
  PIPELINE_INVALID = -32010,
  LIMIT_EXCEEDED = -32011,
  POSITION_NOT_FOUND = -32012,
  ARTIFACT_NOT_FOUND = -32013,
  LOCK_HELD = -32014,
  LOCK_NOT_OWNED = -32015,
  LOCK_LOST = -32016,
  TICK_IN_PROGRESS = -32017,
  PREVIOUS_TICK_INCOMPLETE = -32018,
  DECISION_REQUIRED = -32019,
  NOT_WAITING_FOR_APPROVAL = -32020,
  BUDGET_EXHAUSTED = -32021,
  RUN_NOT_FAILED = -32022,
  PLAN_INVALID = -32023,
  PLAN_NOT_FOUND = -32024,
  STEP_NOT_FOUND = -32025,
  PROJECT_NOT_FOUND = -32026,
  CARD_NOT_FOUND = -32027,
  CARD_BUSY = -32028,
  LOOP_NOT_FOUND = -32029,
  PLAN_ORDER = -32030,
  NOTHING_TO_REDACT = -32031,
  REDACTION_IMPOSSIBLE = -32032,
  REDACTION_NEEDS_STOP = -32033,
  AMBIGUOUS_ID = -32034,
  // The service can't do it, now or any more.
  UNKNOWN_OUTCOME = -32050,
  STORAGE_FULL = -32051,
  STORAGE_DAMAGED = -32052,
  OVERLOADED = -32053,
  SHUTTING_DOWN = -32054,
  HISTORY_DROPPED = -32055,
  READ_MODELS_REBUILDING = -32056,
  FILES_REMOVED = -32059,
  NOT_ALLOWED = -32060,
  // The caller isn't authenticated, or lacks the rights; and access tokens.
  UNAUTHENTICATED = -32061,
  FORBIDDEN = -32062,
  ACCESS_TOKEN_EXISTS = -32063,
  ACCESS_TOKEN_NOT_FOUND = -32064,
};
BOOST_DESCRIBE_ENUM(ErrorCode, PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS,
                    INTERNAL, RUN_NOT_FOUND, RUN_TERMINAL, STATION_NOT_FOUND, STATION_ORDER,
                    STATION_ALREADY_SUCCEEDED, STATION_NOT_CLAIMED, STATION_NOT_CLAIMABLE,
                    STALE_TOKEN, IDEMPOTENCY_CONFLICT, PIPELINE_INVALID, LIMIT_EXCEEDED,
                    POSITION_NOT_FOUND, ARTIFACT_NOT_FOUND, LOCK_HELD, LOCK_NOT_OWNED, LOCK_LOST,
                    TICK_IN_PROGRESS, PREVIOUS_TICK_INCOMPLETE, DECISION_REQUIRED,
                    NOT_WAITING_FOR_APPROVAL, BUDGET_EXHAUSTED, RUN_NOT_FAILED, PLAN_INVALID,
                    PLAN_NOT_FOUND, STEP_NOT_FOUND, PROJECT_NOT_FOUND, CARD_NOT_FOUND, CARD_BUSY,
                    LOOP_NOT_FOUND, PLAN_ORDER, NOTHING_TO_REDACT, REDACTION_IMPOSSIBLE,
                    REDACTION_NEEDS_STOP, AMBIGUOUS_ID, UNKNOWN_OUTCOME, STORAGE_FULL,
                    STORAGE_DAMAGED, OVERLOADED, SHUTTING_DOWN, HISTORY_DROPPED,
                    READ_MODELS_REBUILDING, FILES_REMOVED, NOT_ALLOWED, UNAUTHENTICATED, FORBIDDEN,
                    ACCESS_TOKEN_EXISTS, ACCESS_TOKEN_NOT_FOUND)

// One entry of a rejection's `details`.
struct Detail {
  std::string key;  // part of the contract
  std::variant<std::string, std::int64_t, bool, std::vector<std::string>> value;

  friend bool operator==(const Detail&, const Detail&) = default;
};

struct Rejection {
  ErrorCode code = ErrorCode::INTERNAL;
  std::string message;                     // one sentence for a person
  std::vector<Detail> details;             // for programs
  std::vector<std::string> next_commands;  // shell commands to run next, ready to paste

  friend bool operator==(const Rejection&, const Rejection&) = default;
};

template <class T>
using Decided = tl::expected<T, Rejection>;

// Returns the rejection as the error of a Decided.
inline tl::unexpected<Rejection> reject(ErrorCode code, std::string message,
                                        std::vector<Detail> details = {},
                                        std::vector<std::string> next_commands = {}) {
  return tl::unexpected<Rejection>(
      Rejection{code, std::move(message), std::move(details), std::move(next_commands)});
}

}  // namespace signalbox
