// The spans that end in the log, one batch after the other, in the log's order.
//
// It reads the log and folds it, each run by itself. Runs under way are held ready, up to a bound;
// any other run's beginning is read again when its next record comes. So what is given depends on
// the log alone: begin at an older position, and the same spans come again, byte by byte.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "projections/run_index.h"
#include "projections/run_trace.h"
#include "projections/trace_span.h"
#include "store/event_log.h"

namespace signalbox {

class TraceSource {
 public:
  // `caught_up` waits until the index has everything up to a position; false if it won't.
  // `unreadable` is told of a run whose past the log doesn't give any more.
  struct Surroundings {
    const EventLog& log;
    const RunIndex& index;
    std::function<bool(Position)> caught_up;
    std::function<void(const RunId& run_id, const std::string& why)> unreadable;
  };
  explicit TraceSource(Surroundings surroundings);

  struct Batch {
    Position through = 0;            // all up to it is in this batch or an earlier one
    std::vector<std::string> spans;  // as OTLP/JSON
    std::uint64_t lost = 0;          // runs that couldn't be read
  };
  // What follows after `after`, at most one request full; then what follows after its `through`.
  // After an error `after` is asked for again.
  Stored<Batch> next(Position after);

 private:
  enum class Known { no_spans, ready, behind };

  Known apply(const Record& record, Batch& batch, std::size_t& bytes);
  std::unique_ptr<RunTrace> begin(const Record& record, Batch& batch);
  std::unique_ptr<RunTrace> read_again(const Record& record, Batch& batch);
  std::shared_ptr<const PipelineDefinition> pipeline_of(const RunStarted& started);

  const Surroundings surroundings_;
  boost::unordered_flat_map<RunId, std::unique_ptr<RunTrace>, UuidHash> open_;
  std::map<Digest, std::shared_ptr<const PipelineDefinition>> pipelines_;
};

// The card that the run works on, or merges. Any thread.
std::optional<CardId> card_of_run(const RunIndex& index, const RunId& run_id);

// For people, and for a collector that missed it.
struct WholeTrace {
  std::vector<TraceSpan> ended;  // in the order in which they ended
  std::vector<TraceSpan> open;   // those above first
};

// As of index.applied(); nothing for an unknown run. Any thread.
Stored<std::optional<WholeTrace>> read_run_trace(const EventLog& log, const RunIndex& index,
                                                 const RunId& run_id);

}  // namespace signalbox
