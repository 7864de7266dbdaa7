// What the log and the read models have of a run that the world may have forgotten, because it
// ended long ago: how it failed, whether it is over for good, and the commits that its stations
// declared.
#pragma once

#include <set>
#include <string>

#include <tl/expected.hpp>

#include "domain/ids.h"
#include "domain/run_command.h"
#include "projections/run_index.h"
#include "server/followers/projector.h"
#include "store/event_log.h"

namespace signalbox {

// Returns the run of this row as it was right before its failure, by its records, which a retry of
// it needs; without a run if its latest record isn't a RunFailed. Fails with
// `dropped` if a retention dropped the records and the row is about to go. The projector's thread,
// or any thread while the row is still the run's.
Stored<FailedRun> read_failed_run(const EventLog& log, const RunIndex& index, const RunRow& row);

// Returns the run as of `position`, which is durable; without a run if it hasn't failed, or if its
// records are dropped. Error: a sentence that says why nobody can tell. Blocks until the read
// models have reached `position`, but not while they are rebuilt. Any thread but the projector's.
tl::expected<FailedRun, std::string> find_failed_run(Projector& projector, const EventLog& log,
                                                     Position position, const RunId& run_id);

// Returns those of `run_ids` (as text) that can't go on any more after `position`, which is
// durable: runs that succeeded or were canceled, ended runs of cards, and runs that the log doesn't
// have. A failed run that is no card's isn't over, because it can be retried. What is over stays
// so. Error: a sentence that says why nobody can tell. Blocks until the read models have reached
// `position`. Any thread but the projector's.
tl::expected<std::set<std::string>, std::string> runs_over(Projector& projector, Position position,
                                                           const std::set<std::string>& run_ids);

// Returns a machine other than `own`, the id of this one, that a job of the run was given to and
// that isn't a runner; empty if there is none, or if the log doesn't say. Error: a sentence that
// says why nobody can tell. Blocks until the read models have reached the log's end. Any thread but
// the projector's.
tl::expected<std::string, std::string> other_machine_of(Projector& projector, const EventLog& log,
                                                        const std::string& own,
                                                        const RunId& run_id);

// A commit that a run's station declared. It is read from the log, because an agent can reach the
// files of its run.
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
