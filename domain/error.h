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
  RUNNER_NOT_FOUND = -32035,
  RUNNER_EVICTED = -32036,
  RUN_ROOT_TAKEN = -32037,
  // The service can't do it, now or any more.
  UNKNOWN_OUTCOME = -32050,
  STORAGE_FULL = -32051,
  STORAGE_DAMAGED = -32052,
  OVERLOADED = -32053,
  SHUTTING_DOWN = -32054,
  HISTORY_DROPPED = -32055,
  READ_MODELS_REBUILDING = -32056,
  GIT_FAILED = -32057,
  STORAGE_AWAY = -32058,
  FILES_REMOVED = -32059,
  NOT_ACTIVE = -32065,
  CELL_UPGRADE_NEEDED = -32066,
  NOT_ALLOWED = -32060,
  // The caller isn't authenticated, or lacks the rights; and access tokens.
  UNAUTHENTICATED = -32061,
  FORBIDDEN = -32062,
  ACCESS_TOKEN_EXISTS = -32063,
  ACCESS_TOKEN_NOT_FOUND = -32064,
};

// BOOST_DESCRIBE_ENUM takes 52 names at most; this is what it expands to.
// clang-format off
BOOST_DESCRIBE_ENUM_BEGIN(ErrorCode)
BOOST_DESCRIBE_ENUM_ENTRY(ErrorCode, PARSE_ERROR)
BOOST_DESCRIBE_ENUM_ENTRY(ErrorCode, INVALID_REQUEST)
BOOST_DESCRIBE_ENUM_ENTRY(ErrorCode, METHOD_NOT_FOUND)
BOOST_DESCRIBE_ENUM_ENTRY(ErrorCode, INVALID_PARAMS)
BOOST_DESCRIBE_ENUM_ENTRY(ErrorCode, INTERNAL)
BOOST_DESCRIBE_ENUM_ENTRY(ErrorCode, RUN_NOT_FOUND)
BOOST_DESCRIBE_ENUM_ENTRY(ErrorCode, RUN_TERMINAL)
BOOST_DESCRIBE_ENUM_ENTRY(ErrorCode, STATION_NOT_FOUND)
BOOST_DESCRIBE_ENUM_ENTRY(ErrorCode, STATION_ORDER)
BOOST_DESCRIBE_ENUM_ENTRY(ErrorCode, STATION_ALREADY_SUCCEEDED)
BOOST_DESCRIBE_ENUM_ENTRY(ErrorCode, STATION_NOT_CLAIMED)
BOOST_DESCRIBE_ENUM_ENTRY(ErrorCode, STATION_NOT_CLAIMABLE)
BOOST_DESCRIBE_ENUM_ENTRY(ErrorCode, STALE_TOKEN)
BOOST_DESCRIBE_ENUM_ENTRY(ErrorCode, IDEMPOTENCY_CONFLICT)
BOOST_DESCRIBE_ENUM_ENTRY(ErrorCode, PIPELINE_INVALID)
BOOST_DESCRIBE_ENUM_ENTRY(ErrorCode, LIMIT_EXCEEDED)
BOOST_DESCRIBE_ENUM_ENTRY(ErrorCode, POSITION_NOT_FOUND)
BOOST_DESCRIBE_ENUM_ENTRY(ErrorCode, ARTIFACT_NOT_FOUND)
BOOST_DESCRIBE_ENUM_ENTRY(ErrorCode, LOCK_HELD)
BOOST_DESCRIBE_ENUM_ENTRY(ErrorCode, LOCK_NOT_OWNED)
BOOST_DESCRIBE_ENUM_ENTRY(ErrorCode, LOCK_LOST)
BOOST_DESCRIBE_ENUM_ENTRY(ErrorCode, TICK_IN_PROGRESS)
BOOST_DESCRIBE_ENUM_ENTRY(ErrorCode, PREVIOUS_TICK_INCOMPLETE)
BOOST_DESCRIBE_ENUM_ENTRY(ErrorCode, DECISION_REQUIRED)
BOOST_DESCRIBE_ENUM_ENTRY(ErrorCode, NOT_WAITING_FOR_APPROVAL)
BOOST_DESCRIBE_ENUM_ENTRY(ErrorCode, BUDGET_EXHAUSTED)
BOOST_DESCRIBE_ENUM_ENTRY(ErrorCode, RUN_NOT_FAILED)
BOOST_DESCRIBE_ENUM_ENTRY(ErrorCode, PLAN_INVALID)
BOOST_DESCRIBE_ENUM_ENTRY(ErrorCode, PLAN_NOT_FOUND)
BOOST_DESCRIBE_ENUM_ENTRY(ErrorCode, STEP_NOT_FOUND)
BOOST_DESCRIBE_ENUM_ENTRY(ErrorCode, PROJECT_NOT_FOUND)
BOOST_DESCRIBE_ENUM_ENTRY(ErrorCode, CARD_NOT_FOUND)
BOOST_DESCRIBE_ENUM_ENTRY(ErrorCode, CARD_BUSY)
BOOST_DESCRIBE_ENUM_ENTRY(ErrorCode, LOOP_NOT_FOUND)
BOOST_DESCRIBE_ENUM_ENTRY(ErrorCode, PLAN_ORDER)
BOOST_DESCRIBE_ENUM_ENTRY(ErrorCode, NOTHING_TO_REDACT)
BOOST_DESCRIBE_ENUM_ENTRY(ErrorCode, REDACTION_IMPOSSIBLE)
BOOST_DESCRIBE_ENUM_ENTRY(ErrorCode, REDACTION_NEEDS_STOP)
BOOST_DESCRIBE_ENUM_ENTRY(ErrorCode, AMBIGUOUS_ID)
BOOST_DESCRIBE_ENUM_ENTRY(ErrorCode, RUNNER_NOT_FOUND)
BOOST_DESCRIBE_ENUM_ENTRY(ErrorCode, RUNNER_EVICTED)
BOOST_DESCRIBE_ENUM_ENTRY(ErrorCode, RUN_ROOT_TAKEN)
BOOST_DESCRIBE_ENUM_ENTRY(ErrorCode, UNKNOWN_OUTCOME)
BOOST_DESCRIBE_ENUM_ENTRY(ErrorCode, STORAGE_FULL)
BOOST_DESCRIBE_ENUM_ENTRY(ErrorCode, STORAGE_DAMAGED)
BOOST_DESCRIBE_ENUM_ENTRY(ErrorCode, OVERLOADED)
BOOST_DESCRIBE_ENUM_ENTRY(ErrorCode, SHUTTING_DOWN)
BOOST_DESCRIBE_ENUM_ENTRY(ErrorCode, HISTORY_DROPPED)
BOOST_DESCRIBE_ENUM_ENTRY(ErrorCode, READ_MODELS_REBUILDING)
BOOST_DESCRIBE_ENUM_ENTRY(ErrorCode, GIT_FAILED)
BOOST_DESCRIBE_ENUM_ENTRY(ErrorCode, STORAGE_AWAY)
BOOST_DESCRIBE_ENUM_ENTRY(ErrorCode, FILES_REMOVED)
BOOST_DESCRIBE_ENUM_ENTRY(ErrorCode, NOT_ACTIVE)
BOOST_DESCRIBE_ENUM_ENTRY(ErrorCode, CELL_UPGRADE_NEEDED)
BOOST_DESCRIBE_ENUM_ENTRY(ErrorCode, NOT_ALLOWED)
BOOST_DESCRIBE_ENUM_ENTRY(ErrorCode, UNAUTHENTICATED)
BOOST_DESCRIBE_ENUM_ENTRY(ErrorCode, FORBIDDEN)
BOOST_DESCRIBE_ENUM_ENTRY(ErrorCode, ACCESS_TOKEN_EXISTS)
BOOST_DESCRIBE_ENUM_ENTRY(ErrorCode, ACCESS_TOKEN_NOT_FOUND)
BOOST_DESCRIBE_ENUM_END(ErrorCode)
// clang-format on

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
