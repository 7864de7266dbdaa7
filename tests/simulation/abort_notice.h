// A CHECK that fails ends the process before there is a verdict, and a step that never ends leads
// to none: then the line that does it again is all that can be told.
#pragma once

#include "tests/simulation/simulation.h"

namespace signalbox::simulation {

// From now on, should the process abort, the line for these options is printed to stderr. It aborts
// if in five minutes these are still the latest options.
void announce(const SimulationOptions& options);

}  // namespace signalbox::simulation
