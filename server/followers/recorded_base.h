// The commit that judges a run's work, as the log has it: an agent can reach the files of its run,
// but not the log.
#pragma once

#include <string>

#include "domain/ids.h"
#include "projections/run_index.h"
#include "store/event_log.h"

namespace signalbox {

// Returns the commit that `station`, the built-in `intake` or `merge` of the run, declared as its
// base when it succeeded last before `before`, which is durable; empty if the log doesn't say, or
// if its text was redacted. The index has `applied` or more; the rest is read from the log. Any
// thread. Errors: those of the log and of the index.
Stored<std::string> recorded_base(const EventLog& log, const RunIndex& index, Position applied,
                                  const RunId& run_id, const std::string& station, Position before);

}  // namespace signalbox
