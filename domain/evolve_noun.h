// The folds of the nouns, one file each. Only evolve() calls them.
#pragma once

#include "domain/event.h"
#include "domain/world.h"

namespace signalbox {

void evolve_noun(World& world, const Record& record, const LockEvent& noun);
void evolve_noun(World& world, const Record& record, const TickEvent& noun);
void evolve_noun(World& world, const Record& record, const AccessEvent& noun);
void evolve_noun(World& world, const Record& record, const PlanEvent& noun);
void evolve_noun(World& world, const Record& record, const ProjectEvent& noun);
void evolve_noun(World& world, const Record& record, const CardEvent& noun);

// The lock of this token isn't needed any more by the run, or by the loop. Nothing if it is gone.
void forget_dependent(World& world, Token lock_token, const RunId& run_id);
void forget_dependent(World& world, Token lock_token, const std::string& loop);

// The lock of this token is needed from now on. It is held.
void add_dependent(World& world, Token lock_token, const RunId& run_id);
void add_dependent(World& world, Token lock_token, const std::string& loop);

}  // namespace signalbox
