// The expected content of the run index, computed from all records at once instead of
// incrementally.
#pragma once

#include <map>
#include <set>
#include <span>
#include <vector>

#include "projections/run_index.h"

namespace signalbox {

struct NaiveRun {
  RunRow row;
  std::vector<Position> positions;
};

inline std::map<RunId, NaiveRun> naive_run_index(std::span<const Record> records) {
  std::map<RunId, NaiveRun> runs;
  std::map<Digest, PipelineDefinition> pipelines;
  for (const Record& record : records) {
    if (record.stream.kind != StreamKind::run) continue;
    if (const auto* started = event_as<RunStarted>(record.event)) {
      if (started->pipeline) pipelines[started->pipeline_digest] = *started->pipeline;
      RunRow& row = runs[record.stream.run_id].row;
      row.run_id = record.stream.run_id;
      row.goal = started->goal;
      row.project = started->project;
      row.labels = started->labels;
      row.idempotency_key = started->idempotency_key;
      row.request_digest = started->request_digest;
      row.pipeline_digest = started->pipeline_digest;
      row.started_position = record.position;
      row.started_at_ns = record.recorded_at_ns;
    }
    if (event_as<StationHeartbeat>(record.event) != nullptr) continue;
    NaiveRun& run = runs[record.stream.run_id];
    run.positions.push_back(record.position);
    run.row.last_position = record.position;
    run.row.updated_at_ns = record.recorded_at_ns;
  }
  for (auto& [id, run] : runs) {
    const PipelineDefinition& pipeline = pipelines[run.row.pipeline_digest];
    run.row.pipeline = pipeline.name;
    run.row.stations = static_cast<std::uint32_t>(pipeline.stations.size());
  }
  return runs;
}

}  // namespace signalbox
