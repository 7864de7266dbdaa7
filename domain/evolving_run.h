// Reconstructs one run's state from its records alone, with the same evolve() in a separate world.
// For queries about the past, and for the retry of a run that has left the world.
#pragma once

#include <memory>
#include <span>

#include "domain/world.h"

namespace signalbox {

class EvolvingRun {
 public:
  // `started` is the run's RunStarted, `pipeline` the definition that it pinned.
  EvolvingRun(const Record& started, const PipelineDefinition& pipeline);

  // Applies the run's next record, from its RunStarted on. Heartbeats may be left out.
  void evolve(const Record& record);

  // Returns the run after the records so far, or nullptr before its start and after each of its
  // ends.
  [[nodiscard]] const Run* run() const { return world_.find_run(id_); }

 private:
  RunId id_;
  World world_;
};

// Returns the open run after `records`, or nullptr if they end with the end of the run. `records`
// are all records of one run from its RunStarted on, ascending; heartbeats may be left out.
// `pipeline` is the definition that the run pinned.
std::shared_ptr<const Run> evolved_run(std::span<const Record> records,
                                       const PipelineDefinition& pipeline);

// Returns the run right before the RunFailed that `records` (as above) end with, or nullptr if they
// don't end with one.
std::shared_ptr<const Run> evolved_failed_run(std::span<const Record> records,
                                              const PipelineDefinition& pipeline);

}  // namespace signalbox
