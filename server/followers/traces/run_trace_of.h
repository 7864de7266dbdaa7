// One run's whole trace, from where it lies: for people and for a collector that missed it.
#pragma once

#include <optional>
#include <vector>

#include "projections/run_index.h"
#include "projections/trace_span.h"
#include "store/event_log.h"

namespace signalbox {

// The card that the run works on, or merges. Any thread.
std::optional<CardId> card_of_run(const RunIndex& index, const RunId& run_id);

struct WholeTrace {
  std::vector<TraceSpan> ended;  // in the order in which they ended
  std::vector<TraceSpan> open;   // those above first
};

// As of index.applied(); nothing for an unknown run. Any thread.
Stored<std::optional<WholeTrace>> read_run_trace(const EventLog& log, const RunIndex& index,
                                                 const RunId& run_id);

}  // namespace signalbox
