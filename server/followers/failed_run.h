// A failed run as it was right before its failure, by its records: what a retry of it needs.
#pragma once

#include <string>

#include <tl/expected.hpp>

#include "domain/run_command.h"
#include "projections/run_index.h"
#include "server/followers/projector.h"
#include "store/event_log.h"

namespace signalbox {

// Returns the run of this row; without a run if its latest record isn't a RunFailed. Fails with
// `dropped` if a retention dropped the records and the row is about to go. The projector's thread,
// or any thread while the row is still the run's.
Stored<FailedRun> read_failed_run(const EventLog& log, const RunIndex& index, const RunRow& row);

// Returns the run as of `position`, which is durable; without a run if it hasn't failed, or if its
// records are dropped. Error: a sentence that says why nobody can tell. Blocks until the read
// models have reached `position`, but not while they are rebuilt. Any thread but the projector's.
tl::expected<FailedRun, std::string> find_failed_run(Projector& projector, const EventLog& log,
                                                     Position position, const RunId& run_id);

}  // namespace signalbox
