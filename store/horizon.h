// The horizon of a log: the position up to which records were dropped, and what replaces them.
//
// Whole entries are dropped, never rewritten. An entry up to the horizon stays if it holds a record
// of something that was still open; behind the horizon everything is there. Of dropped records the
// tree keeps the hashes that proofs of others need (leaf_groups.h). The state they led to is the
// base: opaque bytes that the store keeps for whoever evolves a state from the log.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/merkle_tree.h"
#include "store/store_error.h"

namespace signalbox {

struct PositionRange {
  Position first = 0;
  Position last = 0;

  friend bool operator==(const PositionRange&, const PositionRange&) = default;
};

struct Horizon {
  Position position = 0;    // 0: nothing was ever dropped
  MerkleFrontier frontier;  // over the records 1 … position
  Position dropped_at = 0;  // position of the HistoryDropped event of this drop
  Digest base_sha256;
  std::uint64_t base_bytes = 0;
  // The number in the keys of the base's parts: a position at or before dropped_at that no earlier
  // base has. They are written while others still append, so dropped_at isn't known yet.
  Position base_key = 0;
  bool files_rewritten = false;  // the files were rewritten without the dropped records
  // The records up to the position that are still there: whole entries, ascending, no two ranges
  // adjacent.
  std::vector<PositionRange> kept;

  // Returns the first record from … to that was dropped; nullopt if none was.
  [[nodiscard]] std::optional<Position> first_dropped(Position from, Position to) const;
  // Returns the first position from `from` on that wasn't dropped: of a kept record, or the first
  // after the horizon.
  [[nodiscard]] Position next_present(Position from) const;

  friend bool operator==(const Horizon&, const Horizon&) = default;
};

// A request to drop all records up to `position` except the entries in `kept`.
struct HistoryDrop {
  Position position = 0;
  std::vector<PositionRange> kept;
  std::string base;

  // Returns whether it only gives the records that `before` dropped another base.
  [[nodiscard]] bool renews(const Horizon& before) const {
    return position > 0 && position == before.position && kept == before.kept;
  }
};

// Appends `range`, which must lie after the others; merges it with the last one if they are
// adjacent.
void append_range(std::vector<PositionRange>& ranges, const PositionRange& range);

// Encode and decode a horizon (FORMAT.md, "Dropped records"). Decoding fails with `damaged` or
// `unsupported`.
std::string encode_horizon(const Horizon& horizon);
Stored<Horizon> decode_horizon(std::string_view bytes);

// Returns an error of kind `dropped`.
StoreError dropped_record(Position position, const Horizon& horizon);

}  // namespace signalbox
