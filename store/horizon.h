// The horizon of a log: up to where records were dropped, and what stands in for them.
//
// Whole entries are dropped, never rewritten. An entry up to the horizon that holds a record of
// something that was still open stays; behind the horizon everything is there. Of each dropped
// record the tree keeps what proofs of others need (leaf_groups.h), and what they all led to is
// the base: bytes that the store keeps for whoever folds the log.
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
  MerkleFrontier frontier;  // of the tree over 1 … position
  Position dropped_at = 0;  // of the HistoryDropped that says so
  Digest base_sha256;
  std::uint64_t base_bytes = 0;
  bool bytes_gone = false;  // the files were rewritten without what was dropped
  // What is still there up to the position: whole entries, ascending, no two next to each other.
  std::vector<PositionRange> kept;

  // The first record from … to that was dropped, if one was.
  [[nodiscard]] std::optional<Position> first_dropped(Position from, Position to) const;
  // The first record from `from` on that is there: one that was kept, or the first after the
  // horizon.
  [[nodiscard]] Position next_there(Position from) const;
  [[nodiscard]] std::uint64_t records_kept() const;

  friend bool operator==(const Horizon&, const Horizon&) = default;
};

// What is to be dropped: of the records up to `position` all but the entries that `kept` names.
struct HistoryDrop {
  Position position = 0;
  std::vector<PositionRange> kept;
  std::string base;
};

// Appends `range`, which lies after the others.
void append_range(std::vector<PositionRange>& ranges, const PositionRange& range);

std::string encode_horizon(const Horizon& horizon);
Stored<Horizon> decode_horizon(std::string_view bytes);

// `dropped`: the record was there once.
StoreError dropped_record(Position position, const Horizon& horizon);

}  // namespace signalbox
