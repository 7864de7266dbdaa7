#include "projections/run_index_batch.h"

#include <algorithm>
#include <utility>

#include "domain/limits.h"
#include "domain/try.h"
#include "projections/row_codec.h"
#include "projections/run_index_keys.h"

namespace signalbox {
namespace {

namespace keys = run_index_keys;

tl::unexpected<StoreError> damaged(const Record& record, const std::string& what) {
  StoreError error;
  error.kind = StoreError::Kind::damaged;
  error.message = "the run index doesn't know " + what;
  error.position = record.position;
  return tl::unexpected(std::move(error));
}

void widen(std::pair<Position, Position>& span, Position first, Position last) {
  span.first = span.first == 0 ? first : std::min(span.first, first);
  span.second = std::max(span.second, last);
}

}  // namespace

void RunIndex::Batch::begin() {
  out_.clear();
  index_.rows_.begin();
  hours_.clear();
  index_.ticks_.begin();
  index_.locks_.begin();
  index_.strategies_.begin();
  index_.cards_.begin();
  index_.calendar_.begin();
}

Stored<void> RunIndex::Batch::apply(const Record& record) {
  index_.calendar_.apply(record, out_);
  if (record.stream.kind == StreamKind::tick) return index_.ticks_.apply(record, out_);
  if (record.stream.kind == StreamKind::lock) return index_.locks_.apply(record, out_);
  if (record.stream.kind == StreamKind::card || record.stream.kind == StreamKind::project) {
    return index_.cards_.apply(record);
  }
  if (record.stream.kind != StreamKind::run) return {};
  if (const auto* started = event_as<RunStarted>(record.event)) return start(record, *started);
  if (event_as<StationHeartbeat>(record.event) != nullptr) return {};
  const auto run = TRY(index_.rows_.change(record));
  index_.strategies_.apply(run->row, record);
  TRY(signalbox::apply(run->row, record));
  run->add_position(record.position);
  return {};
}

Stored<void> RunIndex::Batch::start(const Record& record, const RunStarted& event) {
  if (event.pipeline) {
    if (pipelines_.size() > limits::idle_pipelines_max) pipelines_.clear();
    pipelines_.insert_or_assign(event.pipeline_digest, *event.pipeline);
    out_.put(keys::pipeline(event.pipeline_digest), encode_row(*event.pipeline));
  }
  const auto definition = TRY(pipeline(event.pipeline_digest));
  if (definition == nullptr) return damaged(record, "the pipeline of a run that starts");
  index_.rows_.add(record, row_of(record, event, *definition));
  widen(hours_[keys::hour_of(record.recorded_at_ns)], record.position, record.position);
  return {};
}

Stored<const PipelineDefinition*> RunIndex::Batch::pipeline(const Digest& digest) {
  if (const auto known = pipelines_.find(digest); known != pipelines_.end()) {
    return &known->second;
  }
  auto stored = TRY(index_.find_pipeline(digest));
  if (!stored) return nullptr;
  if (pipelines_.size() > limits::idle_pipelines_max) pipelines_.clear();
  return &pipelines_.insert_or_assign(digest, std::move(*stored)).first->second;
}

Stored<void> RunIndex::Batch::put_run(ChangedRow<RunRow>& run, RunCounts& counts) {
  RunRow& row = run.row;
  if (row.station.empty()) {
    const auto definition = TRY(pipeline(row.pipeline_digest));
    if (definition != nullptr) row.station = definition->stations.at(row.station_index).name;
  }
  index_.rows_.put(run, out_);
  if (run.has_new_status()) {
    if (run.status_before) --counts.of(*run.status_before);
    ++counts.of(row.status);
  }
  if (run.status_before) return {};
  const Position started = row.started_position;
  if (!row.idempotency_key.empty()) {
    out_.put(keys::idempotency_key(row.idempotency_key), keys::number_bytes(started));
  }
  for (const auto& [name, value] : row.labels) {
    out_.put(keys::numbered(keys::label(name, value), started), {});
  }
  return {};
}

Stored<void> RunIndex::Batch::put_hours() {
  for (auto& [hour, span] : hours_) {
    const std::string key = keys::hour(hour);
    const auto known = TRY(index_.table_.get(key));
    if (known && known->size() == 16) {
      widen(span, keys::trailing_number(known->substr(0, 8)), keys::trailing_number(*known));
    }
    std::string value;
    keys::append_big_endian(value, span.first);
    keys::append_big_endian(value, span.second);
    out_.put(key, value);
  }
  return {};
}

Stored<void> RunIndex::Batch::write(Position applied) {
  auto counts = TRY(index_.counts());
  for (ChangedRow<RunRow>& run : index_.rows_.changed()) {
    TRY(put_run(run, counts));
  }
  TRY(put_hours());
  index_.locks_.put(out_);
  TRY(index_.strategies_.put(out_));
  TRY(index_.cards_.put(out_));
  TRY(index_.calendar_.put(out_));
  out_.put(keys::counts, encode_row(counts));
  return index_.table_.write(out_, applied);
}

}  // namespace signalbox
