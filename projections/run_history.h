// A run's timeline from where it lies: the index says which records, the log has them.
#pragma once

#include <optional>
#include <span>
#include <vector>

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

}  // namespace signalbox
