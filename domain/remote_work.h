// Distinguishes stations whose work is done on another machine. It needs no local process, and so
// has slots, threads and a queue of its own.
#pragma once

#include "domain/pipeline.h"

namespace signalbox {

// Returns whether the station's executor is modal, or coderunner in mode modal.
[[nodiscard]] inline bool is_remote(const StationDefinition& station) {
  if (station.executor == ExecutorKind::modal) return true;
  return station.executor == ExecutorKind::coderunner && station.coderunner &&
         station.coderunner->mode == CoderunnerMode::modal;
}

// Returns the executor under which the ready stations (ready_stations.h) hold it. All remote work
// is in one queue, so that it never delays local work.
[[nodiscard]] inline ExecutorKind ready_queue_of(const StationDefinition& station) {
  return is_remote(station) ? ExecutorKind::modal : station.executor;
}

}  // namespace signalbox
