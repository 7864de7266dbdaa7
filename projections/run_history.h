// A run's past from where it lies: the index says which records, the log has them.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "domain/run.h"
#include "projections/run_index.h"
#include "projections/timeline.h"
#include "store/event_log.h"

namespace signalbox {

// The records at these ascending positions. Neighbours are read in one go.
Stored<std::vector<Record>> read_records(const EventLog& log, std::span<const Position> positions);

// A run's records, heartbeats left out, and the definition that it pinned.
struct RunHistory {
  std::vector<Record> records;
  PipelineDefinition pipeline;
};

// As of index.applied(); nothing for an unknown run. Any thread.
Stored<std::optional<RunHistory>> read_history(const EventLog& log, const RunIndex& index,
                                               const RunId& run_id);

// Likewise.
Stored<std::optional<RunTimeline>> read_timeline(const EventLog& log, const RunIndex& index,
                                                 const RunId& run_id);

// The deep work of a station that the run has left, as it was when the station ended: the state of
// the world has only what is under way, the log has the rest.
//
// Returns the run with its latest plan of `station` (of any, where that is empty) and without an
// attempt, its current station the plan's, in the status in which that ended. nullptr if there was
// no such plan or it hasn't ended. `records` are those of the run from its RunStarted on
// (heartbeats may be left out), `pipeline` the definition that it pinned.
std::shared_ptr<const Run> fold_ended_plan(std::span<const Record> records,
                                           const PipelineDefinition& pipeline,
                                           std::string_view station);

}  // namespace signalbox
