// Usage that is told after its attempt ended: by a runner that was away for longer than its lease,
// or of a job whose result was refused. The money is spent, so it is recorded, once for each
// attempt, whatever has become of the run; nothing else of such a result is taken.
//
// The log is what says whether there was such an attempt and whether its usage is known, since the
// world forgets an attempt with its end. So a report may be repeated as often as you like, after
// restarts and at another server of the cell.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <boost/describe/enum.hpp>

#include "domain/error.h"
#include "domain/ids.h"
#include "domain/station_events.h"
#include "server/rpc/api.h"

namespace signalbox {

struct LateUsage {
  RunId run_id{};
  std::string job_id;
  std::string machine;  // that tells it: only the one that the job was given to is believed
  Usage usage;
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

}  // namespace signalbox
