// The commit that judges a run's work, as the log has it: an agent can reach the files of its run,
// but not the log.
#pragma once

#include <string>

#include "domain/ids.h"
#include "projections/run_index.h"
#include "store/event_log.h"

namespace signalbox {

struct RunOfBase {
  RunId id{};
  Position started = 0;  // position of its RunStarted
  Position before = 0;   // durable; only what the log has before counts
  std::string station;   // the built-in `intake` or `merge` of the run
};

// Returns the commit that the station declared as the base of the run's work when it succeeded
// last; empty if the log doesn't say, or if its text was redacted. The index has `applied` or more;
// the rest is read from the log. Any thread. Errors: those of the log.
Stored<std::string> recorded_base(const EventLog& log, const RunIndex& index, Position applied,
                                  const RunOfBase& run);

}  // namespace signalbox
