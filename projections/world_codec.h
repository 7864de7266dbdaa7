// The world as bytes, in one canonical order: what a snapshot holds.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "domain/world.h"
#include "store/store_error.h"

namespace signalbox {

// Goes up with every change of what the world's structs list, or of an `evolve` limit.
inline constexpr std::uint32_t world_format = 5;

// Everything but what is derived: ready stations, the runs by idempotency key, shared pointers.
std::string encode_world(const World& world);

// With all that is derived made again. `damaged` where the bytes don't spell a world; whether its
// invariants hold isn't looked at.
Stored<World> decode_world(std::string_view bytes);

}  // namespace signalbox
