#include "domain/default_pipeline.h"

#include <algorithm>

namespace signalbox {

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
  const bool has_mock =
      std::any_of(stations.begin(), stations.end(), [](const StationDefinition& station) {
        return station.coderunner && station.coderunner->mode == CoderunnerMode::mock;
      });
  if (!has_mock) return Mocked::nothing;
  PipelineDefinition mock = pipeline_of(DefaultPipeline::agents, CoderunnerMode::mock);
  return stations == mock.stations ? Mocked::everything : Mocked::agents;
}

}  // namespace signalbox
