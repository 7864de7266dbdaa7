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

}  // namespace signalbox
