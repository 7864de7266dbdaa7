#include "server/followers/traces/trace_source.h"

#include <algorithm>
#include <utility>

#include <boost/json/serialize.hpp>

#include "domain/try.h"
#include "projections/run_history.h"
#include "projections/run_trace.h"
#include "server/followers/traces/otlp_json.h"
#include "server/followers/traces/trace_limits.h"

namespace signalbox {
namespace {

namespace json = boost::json;

constexpr std::size_t pipelines_held_max = 256;

bool is_heartbeat(const Record& record) {
  return event_as<StationHeartbeat>(record.event) != nullptr ||
         event_as<StepHeartbeat>(record.event) != nullptr;
}

// Returns whether the record ends a span, whatever was open before it.
bool ends_span_surely(const Record& record) {
  return event_as<RunSucceeded>(record.event) != nullptr ||
         event_as<RunFailed>(record.event) != nullptr ||
         event_as<RunCanceled>(record.event) != nullptr ||
         event_as<LateUsageReported>(record.event) != nullptr;
}

}  // namespace

TraceSource::TraceSource(Context context) : context_(std::move(context)) {}

Stored<TraceSource::Batch> TraceSource::next(Position after) {
  // Spans of history that was dropped before a collector took them are lost.
  after = std::max(after, context_.log.horizon().position);
  Batch batch;
  batch.through = after;
  std::size_t bytes = 0;
  bool behind = false;
  const Position to = after + limits::trace_batch_events_max;
  const auto scanned = context_.log.scan(after + 1, to, [&](Record&& record) {
    if (record.stream.kind == StreamKind::run && !is_heartbeat(record)) {
      if (apply(record, batch, bytes) == Known::behind) {
        behind = true;
        return false;
      }
    }
    batch.through = record.position;
    return batch.spans.size() < limits::trace_batch_spans_max &&
           bytes < limits::trace_batch_bytes_max;
  });
  // Records that were applied must not be applied again: the batch so far is returned, and an error
  // comes with the next call.
  if (batch.through > after) return batch;
  TRY(scanned);
  if (behind) {
    return store_failure(StoreError::Kind::io, "the read models are behind");
  }
  return batch;
}

TraceSource::Known TraceSource::apply(const Record& record, Batch& batch, std::size_t& bytes) {
  const RunId& run_id = record.stream.run_id;
  auto place = open_.find(run_id);
  if (place == open_.end()) {
    if (!context_.caught_up(record.position)) return Known::behind;
    auto trace = begin(record, batch);
    if (trace == nullptr) return Known::no_spans;
    if (open_.size() >= limits::trace_open_runs_max) open_.clear();
    place = open_.emplace(run_id, std::move(trace)).first;
  }
  std::vector<TraceSpan> ended;
  place->second->apply(record, ended);
  for (const TraceSpan& span : ended) {
    batch.spans.push_back(boost::json::serialize(span_to_otlp(span)));
    bytes += batch.spans.back().size();
  }
  // Usage may be told of a run that has ended: nothing would end the trace that began with it.
  if (!place->second->is_open()) open_.erase(place);
  return Known::ready;
}

std::unique_ptr<RunTrace> TraceSource::begin(const Record& record, Batch& batch) {
  const auto* started = event_as<RunStarted>(record.event);
  if (started == nullptr) return rebuild(record, batch);
  auto pipeline = pipeline_of(*started);
  if (pipeline == nullptr) {
    ++batch.lost;
    context_.unreadable(record.stream.run_id, "its pipeline isn't known");
    return nullptr;
  }
  return std::make_unique<RunTrace>(std::move(pipeline),
                                    card_of_run(context_.index, record.stream.run_id));
}

// Applies the run's records before `record`; spans that ended with them were returned before.
std::unique_ptr<RunTrace> TraceSource::rebuild(const Record& record, Batch& batch) {
  const RunId& run_id = record.stream.run_id;
  const auto history = read_history(context_.log, context_.index, run_id);
  if (!history || !*history) {
    if (ends_span_surely(record)) ++batch.lost;
    context_.unreadable(run_id, history ? "it isn't in the index" : history.error().message);
    return nullptr;
  }
  auto trace =
      std::make_unique<RunTrace>(std::make_shared<const PipelineDefinition>((*history)->pipeline),
                                 card_of_run(context_.index, run_id));
  std::vector<TraceSpan> discarded;
  for (const Record& earlier : (*history)->records) {
    if (earlier.position >= record.position) break;
    trace->apply(earlier, discarded);
    discarded.clear();
  }
  return trace;
}

std::shared_ptr<const PipelineDefinition> TraceSource::pipeline_of(const RunStarted& started) {
  auto& held = pipelines_[started.pipeline_digest];
  if (held == nullptr) {
    auto found = context_.index.find_pipeline(started.pipeline_digest);
    if (found && *found) held = std::make_shared<const PipelineDefinition>(std::move(**found));
  }
  auto pipeline = held;
  if (pipelines_.size() > pipelines_held_max || pipeline == nullptr) pipelines_.clear();
  return pipeline;
}

std::optional<CardId> card_of_run(const RunIndex& index, const RunId& run_id) {
  const auto row = index.cards().find_by_run(run_id);
  if (!row || !*row) return std::nullopt;
  return (*row)->card_id;
}

Stored<std::optional<WholeTrace>> read_run_trace(const EventLog& log, const RunIndex& index,
                                                 const RunId& run_id) {
  auto history = TRY(read_history(log, index, run_id));
  if (!history) return std::nullopt;
  RunTrace trace(std::make_shared<const PipelineDefinition>(std::move(history->pipeline)),
                 card_of_run(index, run_id));
  WholeTrace whole;
  for (const Record& record : history->records) trace.apply(record, whole.ended);
  whole.open = trace.open();
  return whole;
}

}  // namespace signalbox
