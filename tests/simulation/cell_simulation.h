// Simulates a cell: several servers over one log, of which one takes commands, with the clients of
// any simulation, in one thread, from one seed.
#pragma once

#include "tests/simulation/simulation.h"

namespace signalbox::simulation {

// Runs one simulation of `options.servers` servers, like simulate(). Blocks until the verdict.
SimulationResult simulate_cell(const SimulationOptions& options);

}  // namespace signalbox::simulation
