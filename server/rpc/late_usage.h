// Usage that is told after its attempt ended: by a runner that was away for longer than its lease,
// of a job whose result was refused, or by an outside worker whose lease was over. The money is
// spent, so it is recorded, once for each attempt, whatever has become of the run; nothing else of
// such a result is taken.
//
// The log is what says whether there was such an attempt and whether its usage is known, since the
// world forgets an attempt with its end. So a report may be repeated as often as you like, after
// restarts and at another server of the cell.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <variant>

#include <boost/describe/enum.hpp>

#include "domain/error.h"
#include "domain/ids.h"
#include "domain/station_events.h"
#include "server/engine/engine.h"
#include "server/rpc/api.h"
#include "server/rpc/responder.h"

namespace signalbox {

// An attempt whose job was given to a machine. Only that machine is believed.
struct AttemptOfJob {
  std::string job_id;
  std::string machine;  // that tells it
};

// An attempt that an outside worker has claimed, at the position `token`. Only who claimed it is
// believed, and an admin.
struct ClaimedAttempt {
  std::string station;
  Token token = 0;
};

struct LateUsage {
  RunId run_id{};
  std::variant<AttemptOfJob, ClaimedAttempt> attempt;
  Usage usage;
  Origin origin = by_the_service;  // of its record, and who is believed; has no command
};

enum class LateUsageOutcome : std::uint8_t {
  recorded = 1,
  known,    // the log has the usage of the attempt already, be it another
  unknown,  // there was no such attempt, or its records were dropped
};
BOOST_DESCRIBE_ENUM(LateUsageOutcome, recorded, known, unknown)

// Records the usage unless the log has some of the attempt, and calls `then` with the outcome,
// which may not be durable yet. Fails if nobody can tell now (such as READ_MODELS_REBUILDING), or
// if it can't be written (such as CELL_UPGRADE_NEEDED): it may be told again later. Called on the
// engine's thread, as is `then`, at once or later.
void record_late_usage(Api& api, const LateUsage& late,
                       std::function<void(const Decided<LateUsageOutcome>& outcome)> then);

// Rejects a completion with `why` after its usage was recorded as record_late_usage() does, if
// `why` leaves open that its attempt has ended; the message and the detail `usage` say what became
// of that: an outcome as above, or `not_recorded`. Rejects it at once if it names no usage. Called
// on the engine's thread.
void reject_with_usage(Api& api, const Responder& responder, Rejection why, const LateUsage& late);

}  // namespace signalbox
