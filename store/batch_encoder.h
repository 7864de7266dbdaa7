// The entries of a batch of commits, encoded, and their leaves.
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

// One thread at a time. Its memory is kept from one batch to the next.
class BatchEncoder {
 public:
  // Encodes the entries, and begins to hash their leaves meanwhile. The commits are numbered.
  void begin(std::span<const Commit> commits, const RandomSource& random);

  // How much all entries are, and the one of the index-th commit; until the next begin().
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] std::string_view entry(std::size_t index) const { return entries_[index]; }

  // Appends the leaves to `frontier`. After each begin().
  void end(Sha256& sha256, MerkleFrontier& frontier);

 private:
  void encode(std::span<const Commit> commits, const RandomSource& random, std::string& block);

  std::deque<std::string> blocks_;  // of some commits each, which stay where they are
  std::vector<std::string_view> entries_;
  std::vector<std::size_t> sizes_;  // of the headers and salted payloads of a block, in turn
  std::size_t bytes_ = 0;
  LeafHashing hashing_;  // last: its thread uses the others
};

}  // namespace signalbox
