// The guards that every word about a plan or a step passes, in their order.
#pragma once

#include <string>

#include "domain/decide.h"

namespace signalbox {

// The run is open, and its current station is deep work that was begun: RUN_NOT_FOUND,
// RUN_TERMINAL, PLAN_NOT_FOUND.
Decided<const Run*> planned_run(const World& world, const RunId& id);

// As above, and `token` is that of the station's attempt under way: STALE_TOKEN. Where `station`
// isn't empty it must be the current one: PLAN_NOT_FOUND.
Decided<const Run*> planned_station(const World& world, const RunId& id, const std::string& station,
                                    Token token);

struct HeldStep {
  const Run* run;
  const StepState* step;
};

// planned_run(), and the step's attempt of `token` is under way: STEP_NOT_FOUND, STALE_TOKEN.
Decided<HeldStep> held_step(const World& world, const RunId& id, const std::string& step,
                            Token token);

}  // namespace signalbox
