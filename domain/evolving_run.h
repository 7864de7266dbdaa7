// One run's state along its history, by the same evolve() as ever, in a world of its own: for those
// who ask how it was, not how it is.
#pragma once

#include <memory>
#include <span>

#include "domain/world.h"

namespace signalbox {

class EvolvingRun {
 public:
  // `started` is the run's RunStarted, `pipeline` the definition that it pinned.
  EvolvingRun(const Record& started, const PipelineDefinition& pipeline);

  // Its records one after the other, from its RunStarted on; heartbeats may be left out.
  void evolve(const Record& record);

  // After what there was so far; nullptr before its start and after each of its ends.
  [[nodiscard]] const Run* run() const { return world_.find_run(id_); }

 private:
  RunId id_;
  World world_;
};

// The open run that `records` leave, by the same evolve() as ever: all of one run, ascending, from
// its RunStarted on; heartbeats may be left out. `pipeline` is the definition that it pinned.
// nullptr if they end with the end of the run.
std::shared_ptr<const Run> evolved_run(std::span<const Record> records,
                                       const PipelineDefinition& pipeline);

// The run right before the RunFailed that `records`, as above, end with. nullptr if they don't.
std::shared_ptr<const Run> evolved_failed_run(std::span<const Record> records,
                                              const PipelineDefinition& pipeline);

}  // namespace signalbox
