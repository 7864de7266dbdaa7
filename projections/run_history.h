// Reads the history of a run: the index has the positions of its records, the log has the records.
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

// Reads the records at these ascending positions; adjacent ones in one scan. Fails with `damaged`
// if the log lacks one.
Stored<std::vector<Record>> read_records(const EventLog& log, std::span<const Position> positions);

// A run's records without heartbeats, and the pipeline definition that it pinned.
struct RunHistory {
  std::vector<Record> records;
  PipelineDefinition pipeline;
};

// Reads a run's history as of index.applied(); returns nullopt for an unknown run. Any thread.
Stored<std::optional<RunHistory>> read_history(const EventLog& log, const RunIndex& index,
                                               const RunId& run_id);

// Does the same and returns the run's timeline.
Stored<std::optional<RunTimeline>> read_timeline(const EventLog& log, const RunIndex& index,
                                                 const RunId& run_id);

// Reconstructs the deep work of a station that the run has left, as of the station's end: the world
// only has work in progress, the log has the rest.
//
// Returns the run with its latest plan of `station` (of any station if empty), with that station
// current, in the status in which it ended, and without an attempt. Returns nullptr if there was no
// such plan or the station hasn't ended. `records` are those of the run from its RunStarted on
// (heartbeats may be omitted), `pipeline` is the definition that it pinned.
std::shared_ptr<const Run> fold_ended_plan(std::span<const Record> records,
                                           const PipelineDefinition& pipeline,
                                           std::string_view station);

}  // namespace signalbox
