// A pipeline of two stations for outside workers, "a" and "b". It is derived from the default one,
// because g++ 12 warns about lists in constructors that it inlines into a test.
#pragma once

#include "domain/pipeline.h"

namespace signalbox {

inline PipelineDefinition two_stations() {
  PipelineDefinition pipeline = default_pipeline();
  pipeline.name = "two";
  pipeline.stations.erase(pipeline.stations.begin() + 2, pipeline.stations.end());
  pipeline.stations[0].name = "a";
  pipeline.stations[1].name = "b";
  for (StationDefinition& station : pipeline.stations) {
    station.executor = ExecutorKind::worker;
    station.command.clear();
    station.retry = {};
  }
  return pipeline;
}

}  // namespace signalbox
