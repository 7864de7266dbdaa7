// What the world derives from the current station of a run: its place among the stations that can
// be claimed, and the plan of deep work. The events of runs and those of stations both change these
// (evolve_run.cc, evolve_station.cc).
#pragma once

#include "domain/world.h"

namespace signalbox {

// Makes the current station claimable, unless the run is paused or the station waits for a person.
// `position` is that of the event that has it ready.
void make_ready(World& world, Run& run, Position position);

// Takes the current station from those that can be claimed; does nothing if it isn't one of them.
void make_unready(World& world, Run& run);

// Gives a deep_work station a plan with its first attempt. The plan outlasts the attempts.
void begin_plan(World& world, Run& run);

// Removes the plan, if there is one, and the holders of its steps.
void end_plan(World& world, Run& run);

}  // namespace signalbox
