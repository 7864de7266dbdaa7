#include "server/executors/executor_set.h"

namespace signalbox {

bool is_remote(const Job& job) {
  const StationDefinition& station = job.definition;
  if (station.executor == ExecutorKind::modal) return true;
  return station.executor == ExecutorKind::coderunner && station.coderunner &&
         station.coderunner->mode == CoderunnerMode::modal;
}

}  // namespace signalbox
