// evolve(world, record): applies a recorded event to the world, as the fold of the log.
//
// Live operation and replay call the same function, and nothing asks which of them it is. It judges
// nothing: what is recorded is true, and a record that doesn't fit the state is a bug (CHECK).
#pragma once

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

// Remove the run, or the loop, from the dependents of the lock with this token. Do nothing if no
// lock is held with it.
void forget_dependent(World& world, Token lock_token, const RunId& run_id);
void forget_dependent(World& world, Token lock_token, const std::string& loop);

// Add the run, or the loop, to the dependents of the lock with this token. The lock is held.
void add_dependent(World& world, Token lock_token, const RunId& run_id);
void add_dependent(World& world, Token lock_token, const std::string& loop);

}  // namespace signalbox
