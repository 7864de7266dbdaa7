// Whose work is done on another machine: it needs no process here, and so has places, threads and a
// queue of its own.
#pragma once

#include "domain/pipeline.h"

namespace signalbox {

// `modal`, and `coderunner` in that mode.
[[nodiscard]] inline bool is_remote(const StationDefinition& station) {
  if (station.executor == ExecutorKind::modal) return true;
  return station.executor == ExecutorKind::coderunner && station.coderunner &&
         station.coderunner->mode == CoderunnerMode::modal;
}

// Among which ready stations (ready_stations.h) it has its turn: all that is remote is in one
// queue, so that none of it is in the way of local work.
[[nodiscard]] inline ExecutorKind ready_queue_of(const StationDefinition& station) {
  return is_remote(station) ? ExecutorKind::modal : station.executor;
}

}  // namespace signalbox
