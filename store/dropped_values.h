// What the log's database stores of dropped records: the horizon, the base, and groups of hashes
// (FORMAT.md, "Dropped records").
//
// Internal: only sources include it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "store/horizon.h"
#include "store/leaf_groups.h"

namespace signalbox {

class RocksDatabase;

inline constexpr std::string_view horizon_key = "horizon";
inline constexpr std::string_view base_prefix = "base/";  // then base_key, index: u64, big endian
// RocksDB handles values of this size well.
inline constexpr std::size_t base_chunk_bytes = 1024 * 1024;

// Return the keys of a base's parts, and the key of a group of hashes.
std::string base_parts_prefix(Position base_key);
std::string base_part_key(Position base_key, std::uint64_t index);
std::string group_key(std::uint64_t number);

// Calls `visit` with the groups from number `from` on, until it returns false.
Stored<void> read_groups(const RocksDatabase& database, std::uint64_t from,
                         const std::function<bool(LeafGroup&&)>& visit);

}  // namespace signalbox
