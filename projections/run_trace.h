// The trace of a run as a pure function of its records: the run is the root span, each attempt a
// child of it, each attempt at a step of deep work a child of the attempt. Usage that is told after
// its attempt's end is a span of its own, a child of the attempt without a length.
//
// A span is reported once, when it has ended, and never changes afterwards. This also holds for a
// failed run that is retried: what follows is a new span, a child of the first one.
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
  // `pipeline` is the definition that the run pinned; `card` is the card it works on or merges, if
  // any.
  RunTrace(std::shared_ptr<const PipelineDefinition> pipeline, std::optional<CardId> card);

  // Applies the run's records, ascending, from its RunStarted on; heartbeats may be omitted. Adds
  // the spans that end with the record to `ended`, children before parents, but for late usage.
  void apply(const Record& record, std::vector<TraceSpan>& ended);

  // Returns whether the run, or its retry, is under way.
  [[nodiscard]] bool is_open() const { return run_.has_value(); }
  // Returns the open spans, parents first, with an ended_at_ns of 0.
  [[nodiscard]] std::vector<TraceSpan> open() const;

 private:
  class RecordVisitor;

  std::shared_ptr<const PipelineDefinition> pipeline_;
  std::optional<CardId> card_;
  SpanId root_;
  std::string project_;
  SpanAttributes run_attributes_;  // shared by the spans of all retries
  std::optional<TraceSpan> run_;
  std::optional<TraceSpan> attempt_;
  std::map<std::string, TraceSpan> steps_;      // open spans, by the step's id
  std::map<std::string, SpanId> last_attempt_;  // latest attempt's span, by station
};

}  // namespace signalbox
