#include "domain/default_pipeline.h"

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

}  // namespace signalbox
