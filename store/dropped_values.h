// What the log's database stores of dropped records: the horizon, the base, and groups of hashes
// (FORMAT.md, "Dropped records"); and of what a server of a cell has still to drop and to erase.
//
// Internal: only sources include it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "store/horizon.h"
#include "store/leaf_groups.h"

namespace signalbox {

class RocksDatabase;

inline constexpr std::string_view horizon_key = "horizon";
// Positions: u64, little endian, ascending.
inline constexpr std::string_view due_drops_key = "due_drops";
inline constexpr std::string_view due_redactions_key = "due_redactions";
inline constexpr std::string_view awaited_redactions_key = "awaited_redactions";
inline constexpr std::string_view latest_redaction_key = "latest_redaction";
// There while no HistoryDropped records the base (ReplicaLog): nothing but due drops do.
inline constexpr std::string_view unrecorded_base_key = "unrecorded_base";
inline constexpr std::string_view base_prefix = "base/";  // then base_key, index: u64, big endian
inline constexpr std::string_view base_end = "base0";     // behind every key of a part of a base
inline constexpr std::string_view group_prefix = "leaves/";  // then its number: u64, big endian
inline constexpr std::string_view group_end = "leaves0";     // behind every key of a group
// RocksDB handles values of this size well.
inline constexpr std::size_t base_chunk_bytes = 1024 * 1024;

// Return the keys of a base's parts, and the key of a group of hashes.
std::string base_parts_prefix(Position base_key);
std::string base_part_key(Position base_key, std::uint64_t index);
std::string group_key(std::uint64_t number);

// Encode and decode positions. Decoding fails with `damaged`.
std::string encode_due_positions(const std::vector<Position>& due);
Stored<std::vector<Position>> decode_due_positions(std::string_view bytes);

// Calls `visit` with the groups from number `from` on, until it returns false.
Stored<void> read_groups(const RocksDatabase& database, std::uint64_t from,
                         const std::function<bool(LeafGroup&&)>& visit);

}  // namespace signalbox
