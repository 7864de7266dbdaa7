#include "domain/default_pipeline.h"

#include <algorithm>

namespace signalbox {
namespace {

// An agent without a mode is one, too: its definition is older than the modes.
bool is_mock(const StationDefinition& station) {
  return station.executor == ExecutorKind::coderunner && station.coderunner &&
         station.coderunner->mode.value_or(CoderunnerMode::mock) == CoderunnerMode::mock;
}

// intake and create_pr only move the work of others, and an approval is a person's word about it.
bool works_for_real(const StationDefinition& station) {
  const auto builtin = builtin_of(station);
  return !is_mock(station) && station.executor != ExecutorKind::approval &&
         builtin != BuiltinStation::intake && builtin != BuiltinStation::create_pr;
}

}  // namespace

PipelineDefinition pipeline_of(DefaultPipeline which, CoderunnerMode mode) {
  PipelineDefinition pipeline = default_pipeline();
  if (which == DefaultPipeline::workers) return pipeline;
  pipeline.name = mode == CoderunnerMode::mock ? "mock" : "agents";
  for (StationDefinition& station : pipeline.stations) {
    if (station.executor != ExecutorKind::worker) continue;
    station.executor = ExecutorKind::coderunner;
    station.coderunner.emplace().mode = mode;
  }
  return pipeline;
}

Mocked mocked_in(const PipelineDefinition& pipeline) {
  const auto& stations = pipeline.stations;
  if (std::none_of(stations.begin(), stations.end(), is_mock)) return Mocked::nothing;
  const bool others_work = std::any_of(stations.begin(), stations.end(), works_for_real);
  return others_work ? Mocked::agents : Mocked::everything;
}

}  // namespace signalbox
