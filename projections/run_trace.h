// The trace of a run, as a pure fold of its records: the run is the root span, each attempt a span
// below it, each attempt at a step of deep work one below that.
//
// A span is given once, when it has ended, and never changes afterwards. That holds for a run which
// failed and is retried, too: what follows is a span of its own, below the first one.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "domain/event.h"
#include "domain/pipeline.h"
#include "projections/trace_span.h"

namespace signalbox {

class RunTrace {
 public:
  // `pipeline` is the definition that the run pinned, `card` the one it works on or merges, if any.
  RunTrace(std::shared_ptr<const PipelineDefinition> pipeline, std::optional<CardId> card);

  // The run's records, ascending, from its RunStarted on; heartbeats may be left out. Adds the
  // spans that end with the record to `ended`, those below before those above.
  void apply(const Record& record, std::vector<TraceSpan>& ended);

  // What is under way, those above first; their ended_at_ns is 0.
  [[nodiscard]] std::vector<TraceSpan> open() const;

 private:
  class Fold;

  std::shared_ptr<const PipelineDefinition> pipeline_;
  std::optional<CardId> card_;
  SpanId root_;
  std::string project_;
  SpanAttributes run_attributes_;  // what holds for a retried run as well
  std::optional<TraceSpan> run_;
  std::optional<TraceSpan> attempt_;
  std::map<std::string, TraceSpan> steps_;      // under way, by the step's id
  std::map<std::string, SpanId> last_attempt_;  // by station
};

}  // namespace signalbox
