// Encodes the entries of a batch of commits and hashes their Merkle leaves at the same time.
#pragma once

#include <cstddef>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "store/event_log.h"
#include "store/leaf_hashing.h"
#include "store/random_source.h"

namespace signalbox {

// Used by one thread at a time. Keeps its memory from one batch to the next.
class BatchEncoder {
 public:
  // Encodes the entries of `commits`, whose records must be numbered consecutively, and starts
  // hashing their leaves meanwhile. Salts come from `random`.
  void begin(std::span<const Commit> commits, const RandomSource& random);

  // Return the size of all entries in bytes, and the entry of the index-th commit. The view lasts
  // until the next begin().
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] std::string_view entry(std::size_t index) const { return entries_[index]; }

  // Finishes the hashing and appends the leaves to `frontier`. Must be called once after each
  // begin().
  void end(Sha256& sha256, MerkleFrontier& frontier);

 private:
  void encode(std::span<const Commit> commits, const RandomSource& random, std::string& block);

  // Entries of up to block_commits commits each; never moved, for entries_ are views.
  std::deque<std::string> blocks_;
  std::vector<std::string_view> entries_;
  // Gap, header and salted payload of each record of a block, in turn.
  std::vector<std::size_t> sizes_;
  std::size_t bytes_ = 0;
  LeafHashing hashing_;  // last: its thread reads the members above
};

}  // namespace signalbox
