// Encodes the world in one canonical order. Snapshots and bases are made of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "domain/world.h"
#include "store/store_error.h"

namespace signalbox {

// Increases with every change of the fields listed in the world's structs, or of a limit in
// `evolve`.
inline constexpr std::uint32_t world_format = 13;
// The oldest format that decode_world() reads: 5 has no machines of attempts and no holders of
// tokens, 6 has no open questions, 7 doesn't say what a change of checks needs, 8 doesn't say
// whether a pipeline names max_retries, nor whether a project's policy file was ever seen, 9 has no
// pause of the service, 10 doesn't say where runs have their workspaces, 11 not
// which runner has the worktree of a card's run, 12 has no decisions about runners.
inline constexpr std::uint32_t world_format_min = 5;

// Encodes everything except derived data: ready stations, runs by idempotency key, shared pointers.
std::string encode_world(const World& world);

// Decodes a world of `format` (from world_format_min on) and rebuilds the derived data. Fails with
// `damaged` if the bytes don't encode a world; doesn't check its invariants.
Stored<World> decode_world(std::string_view bytes, std::uint32_t format = world_format);

// Rebuilds the index of ready stations from the runs.
void index_ready_stations(World& world);
// Counts the locks of each holder, likewise, from the locks and the holders.
void index_lock_holders(World& world);

}  // namespace signalbox
