// evolve(world, record): what a recorded event makes of the world.
//
// Live work and replay both come through here, and nothing asks which it is. It judges nothing:
// what is recorded is true, and a record that doesn't fit the state is a bug (CHECK).
#pragma once

#include "domain/event.h"
#include "domain/world.h"

namespace signalbox {

// The record's position must be world.position + 1.
void evolve(World& world, const Record& record);

// The nouns, each in a file of its own. Only evolve() calls what follows.
void evolve_noun(World& world, const Record& record, const ServerEvent& noun);
void evolve_noun(World& world, const Record& record, const RunEvent& noun);
void evolve_noun(World& world, const Record& record, const StationEvent& noun);
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
