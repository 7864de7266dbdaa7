// What is true of every world that the log can fold to. Checked after replay, after every step of
// a simulation, and after every command in debug builds.
#pragma once

#include <string>
#include <vector>

#include "domain/world.h"

namespace signalbox {

// One sentence for each invariant that is broken; empty if all hold. Costs a walk over all runs.
std::vector<std::string> broken_invariants(const World& world);

// CHECKs that none is broken; prints those that are.
void check_invariants(const World& world);

}  // namespace signalbox
