#include "server/executors/executor_set.h"

namespace signalbox {

bool is_remote(const StationDefinition& station) {
  if (station.executor == ExecutorKind::modal) return true;
  return station.executor == ExecutorKind::coderunner && station.coderunner &&
         station.coderunner->mode == CoderunnerMode::modal;
}

}  // namespace signalbox
