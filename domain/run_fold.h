// One run's state along its history, by the same evolve() as ever, in a world of its own: for those
// who ask how it was, not how it is.
#pragma once

#include "domain/world.h"

namespace signalbox {

class RunFold {
 public:
  // `started` is the run's RunStarted, `pipeline` the definition that it pinned.
  RunFold(const Record& started, const PipelineDefinition& pipeline);

  // Its records one after the other, from its RunStarted on; heartbeats may be left out.
  void apply(const Record& record);

  // After what was applied so far; nullptr before its start and after each of its ends.
  [[nodiscard]] const Run* run() const { return world_.find_run(id_); }

 private:
  RunId id_;
  World world_;
};

}  // namespace signalbox
