// The invariants of every world that the log can lead to. They are checked after replay, after
// every step of a simulation, and after every command in debug builds.
#pragma once

#include <string>
#include <vector>

#include "domain/world.h"

namespace signalbox {

// Returns one sentence for each broken invariant; empty if all hold. Walks over the whole world.
std::vector<std::string> broken_invariants(const World& world);

// Prints the broken invariants to stderr, and CHECKs that there are none.
void check_invariants(const World& world);

}  // namespace signalbox
