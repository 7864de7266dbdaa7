// A CHECK that fails ends the process before there is a verdict: then the line that does it again
// is all that can be told.
#pragma once

#include "tests/simulation/simulation.h"

namespace signalbox::simulation {

// From now on, should the process abort, the line for these options is printed to stderr.
void announce(const SimulationOptions& options);

}  // namespace signalbox::simulation
