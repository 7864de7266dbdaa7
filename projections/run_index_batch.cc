#include "projections/run_index_batch.h"

#include <algorithm>
#include <utility>

#include "domain/limits.h"
#include "projections/position_list.h"
#include "projections/run_index_keys.h"
#include "store/described_archive.h"

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
  affected_.clear();
  place_of_.clear();
  hours_.clear();
  index_.ticks_.begin();
  index_.strategies_.begin();
  index_.cards_.begin();
}

Stored<void> RunIndex::Batch::take(const Record& record) {
  if (record.stream.kind == StreamKind::tick) return index_.ticks_.take(record, out_);
  if (record.stream.kind == StreamKind::card || record.stream.kind == StreamKind::project) {
    return index_.cards_.take(record);
  }
  if (record.stream.kind != StreamKind::run) return {};
  if (const auto* started = event_as<RunStarted>(record.event)) return start(record, *started);
  if (event_as<StationHeartbeat>(record.event) != nullptr) return {};
  auto affected = affected_by(record);
  if (!affected) return tl::unexpected(std::move(affected.error()));
  Affected& run = **affected;
  const Position before = run.first == 0 ? 0 : run.row.last_position;
  index_.strategies_.take(run.row, record);
  if (auto folded = fold(run.row, record); !folded) return folded;
  if (run.first == 0) run.first = record.position;
  append_position(run.positions, before, record.position);
  return {};
}

Stored<void> RunIndex::Batch::start(const Record& record, const RunStarted& event) {
  if (event.pipeline) {
    if (pipelines_.size() > limits::idle_pipelines_max) pipelines_.clear();
    pipelines_.insert_or_assign(event.pipeline_digest, *event.pipeline);
    bytes_.clear();
    described::encode(*event.pipeline, bytes_);
    out_.put(keys::pipeline(event.pipeline_digest), bytes_);
  }
  const auto definition = pipeline(event.pipeline_digest);
  if (!definition) return tl::unexpected(definition.error());
  if (*definition == nullptr) return damaged(record, "the pipeline of a run that starts");

  latest_ = affected_.size();
  place_of_.insert_or_assign(record.stream.run_id, latest_);
  Affected& run = affected_.emplace_back();
  run.row = row_of(record, event, **definition);
  run.first = record.position;
  append_position(run.positions, 0, record.position);
  widen(hours_[keys::hour_of(record.recorded_at_ns)], record.position, record.position);
  return {};
}

Stored<RunIndex::Batch::Affected*> RunIndex::Batch::affected_by(const Record& record) {
  const RunId& id = record.stream.run_id;
  if (latest_ < affected_.size() && affected_[latest_].row.run_id == id) {
    return &affected_[latest_];
  }
  const auto [place, inserted] = place_of_.try_emplace(id, affected_.size());
  latest_ = place->second;
  if (!inserted) return &affected_[latest_];
  auto row = index_.find(id);
  if (!row) return tl::unexpected(std::move(row.error()));
  if (!*row) return damaged(record, "run " + to_string(id));
  Affected& run = affected_.emplace_back();
  run.row = std::move(**row);
  run.status_before = run.row.status;
  return &run;
}

Stored<const PipelineDefinition*> RunIndex::Batch::pipeline(const Digest& digest) {
  if (const auto known = pipelines_.find(digest); known != pipelines_.end()) {
    return &known->second;
  }
  auto stored = index_.find_pipeline(digest);
  if (!stored) return tl::unexpected(std::move(stored.error()));
  if (!*stored) return nullptr;
  if (pipelines_.size() > limits::idle_pipelines_max) pipelines_.clear();
  return &pipelines_.insert_or_assign(digest, std::move(**stored)).first->second;
}

Stored<void> RunIndex::Batch::put_run(Affected& affected, RunCounts& counts) {
  RunRow& row = affected.row;
  const Position started = row.started_position;
  if (row.station.empty()) {
    const auto definition = pipeline(row.pipeline_digest);
    if (!definition) return tl::unexpected(definition.error());
    if (*definition != nullptr) row.station = (*definition)->stations.at(row.station_index).name;
  }
  bytes_.clear();
  described::encode(row, bytes_);
  out_.put(keys::row(started), bytes_);
  out_.put(keys::numbered(keys::events(started), affected.first), affected.positions);

  if (affected.status_before != row.status) {
    if (affected.status_before) {
      --counts.of(*affected.status_before);
      out_.erase(keys::numbered(keys::status(*affected.status_before), started));
    }
    ++counts.of(row.status);
    out_.put(keys::numbered(keys::status(row.status), started), {});
  }
  if (affected.status_before) return {};
  std::string reference;
  keys::append_big_endian(reference, started);
  out_.put(keys::run_id(row.run_id), reference);
  if (!row.idempotency_key.empty()) {
    out_.put(keys::idempotency_key(row.idempotency_key), reference);
  }
  if (!row.project.empty()) out_.put(keys::numbered(keys::project(row.project), started), {});
  for (const auto& [name, value] : row.labels) {
    out_.put(keys::numbered(keys::label(name, value), started), {});
  }
  return {};
}

Stored<void> RunIndex::Batch::put_hours() {
  for (auto& [hour, span] : hours_) {
    const std::string key = keys::hour(hour);
    const auto known = index_.table_.get(key);
    if (!known) return tl::unexpected(known.error());
    if (*known && (*known)->size() == 16) {
      widen(span, keys::trailing_number((*known)->substr(0, 8)), keys::trailing_number(**known));
    }
    std::string value;
    keys::append_big_endian(value, span.first);
    keys::append_big_endian(value, span.second);
    out_.put(key, value);
  }
  return {};
}

Stored<void> RunIndex::Batch::write(Position applied) {
  auto counts = index_.counts();
  if (!counts) return tl::unexpected(std::move(counts.error()));
  for (Affected& affected : affected_) {
    if (auto put = put_run(affected, *counts); !put) return put;
  }
  if (auto put = put_hours(); !put) return put;
  if (auto put = index_.strategies_.put(out_); !put) return put;
  if (auto put = index_.cards_.put(out_); !put) return put;
  bytes_.clear();
  described::encode(*counts, bytes_);
  out_.put(keys::counts, bytes_);
  return index_.table_.write(out_, applied);
}

}  // namespace signalbox
