// evolve(world, record): applies a recorded event to the world, as the fold of the log.
//
// Live operation and replay call the same function, and nothing asks which of them it is. It judges
// nothing: what is recorded is true, and a record that doesn't fit the state is a bug (CHECK).
#pragma once

#include <memory>
#include <span>

#include "domain/event.h"
#include "domain/world.h"

namespace signalbox {

// Applies `record` to `world`. The record's position is world.position + 1.
void evolve(World& world, const Record& record);

// One overload for each noun, in its own evolve_*.cc. Only evolve() calls them.
void evolve_noun(World& world, const Record& record, const ServerEvent& noun);
void evolve_noun(World& world, const Record& record, const RunEvent& noun);
void evolve_noun(World& world, const Record& record, const StationEvent& noun);
void evolve_noun(World& world, const Record& record, const LockEvent& noun);
void evolve_noun(World& world, const Record& record, const TickEvent& noun);
void evolve_noun(World& world, const Record& record, const AccessEvent& noun);
void evolve_noun(World& world, const Record& record, const PlanEvent& noun);
void evolve_noun(World& world, const Record& record, const ProjectEvent& noun);
void evolve_noun(World& world, const Record& record, const CardEvent& noun);
void evolve_noun(World& world, const Record& record, const RunnerEvent& noun);

// Remove the run, or the loop, from the dependents of the lock with this token. Do nothing if no
// lock is held with it.
void forget_dependent(World& world, Token lock_token, const RunId& run_id);
void forget_dependent(World& world, Token lock_token, const std::string& loop);

// Add the run, or the loop, to the dependents of the lock with this token. The lock is held.
void add_dependent(World& world, Token lock_token, const RunId& run_id);
void add_dependent(World& world, Token lock_token, const std::string& loop);

// Reconstructs one run's state from its records alone, with the same evolve() in a separate world.
// For queries about the past, and for the retry of a run that has left the world.
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

// Returns the run right before the RunFailed that `records` (as above) end with, with what was told
// later of its usage, or nullptr if they don't end with one.
std::shared_ptr<const Run> evolved_failed_run(std::span<const Record> records,
                                              const PipelineDefinition& pipeline);

}  // namespace signalbox
