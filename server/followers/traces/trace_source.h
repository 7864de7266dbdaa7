// Derives the spans that end in the log, batch by batch, in the log's order.
//
// It reads the log and applies each record to the trace of its run. Traces of runs under way are
// kept in memory, up to limits::trace_open_runs_max; any other run's history is read again when its
// next record comes. So the output depends on the log alone: from an older position the same spans
// come again, byte by byte.
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
  // `caught_up` blocks until the index has everything up to a position; it returns false if that
  // won't happen. `unreadable` is called with each run whose history can't be read any more.
  struct Context {
    const EventLog& log;
    const RunIndex& index;
    std::function<bool(Position)> caught_up;
    std::function<void(const RunId& run_id, const std::string& why)> unreadable;
  };
  explicit TraceSource(Context context);

  struct Batch {
    Position through = 0;            // the log up to it is covered by this batch and earlier ones
    std::vector<std::string> spans;  // as OTLP/JSON
    std::uint64_t lost = 0;          // runs whose history couldn't be read
  };
  // Returns the spans that end after position `after`, at most as many as one request holds. The
  // next call is to be given this batch's `through`; after an error, the same `after` again. Fails
  // as the log does, and with `io` if the read models are behind. Blocks. One thread.
  Stored<Batch> next(Position after);
  // Drops the traces of runs under way, which are read again from the log: texts of them were
  // redacted.
  void forget_runs() { open_.clear(); }

 private:
  enum class Known { no_spans, ready, behind };

  Known apply(const Record& record, Batch& batch, std::size_t& bytes);
  std::unique_ptr<RunTrace> begin(const Record& record, Batch& batch);
  std::unique_ptr<RunTrace> rebuild(const Record& record, Batch& batch);
  std::shared_ptr<const PipelineDefinition> pipeline_of(const RunStarted& started);

  const Context context_;
  boost::unordered_flat_map<RunId, std::unique_ptr<RunTrace>, UuidHash> open_;
  std::map<Digest, std::shared_ptr<const PipelineDefinition>> pipelines_;
};

// Returns the card that the run works on or merges; nullopt if there is none. Any thread.
std::optional<CardId> card_of_run(const RunIndex& index, const RunId& run_id);

// The trace of one run, for people, and for a collector that missed it.
struct WholeTrace {
  std::vector<TraceSpan> ended;  // in the order in which they ended
  std::vector<TraceSpan> open;   // under way: parents first, ended_at_ns is 0
};

// Returns the run's trace as of index.applied(); nullopt for an unknown run. Blocks (reads the
// log). Any thread.
Stored<std::optional<WholeTrace>> read_run_trace(const EventLog& log, const RunIndex& index,
                                                 const RunId& run_id);

}  // namespace signalbox
