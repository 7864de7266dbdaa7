// The commits that a run's stations declared, as the log has them: an agent can reach the files of
// its run, but not the log.
#pragma once

#include <string>

#include "domain/ids.h"
#include "projections/run_index.h"
#include "store/event_log.h"

namespace signalbox {

struct DeclaredCommit {
  RunId run_id{};
  Position started = 0;  // position of its RunStarted
  Position before = 0;   // durable; only what the log has before counts
  std::string station;   // of the run, a built-in one
  std::string field;     // of the metadata of its result: "base_commit"
};

// Returns the commit that the station declared when it succeeded last; empty if the log doesn't
// say, or if its text was redacted. The index has `applied` or more; the rest is read from the log.
// Any thread. Errors: those of the log.
Stored<std::string> recorded_commit(const EventLog& log, const RunIndex& index, Position applied,
                                    const DeclaredCommit& wanted);

}  // namespace signalbox
