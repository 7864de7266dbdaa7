// The entries of a batch of commits, encoded into one buffer, and their leaves.
#pragma once

#include <cstddef>
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
  // Encodes the entries and begins to hash their leaves.
  void begin(std::span<const Commit> commits, const RandomSource& random);

  // Of all entries, and of the one of the index-th commit; until the next begin().
  [[nodiscard]] std::string_view bytes() const { return bytes_; }
  [[nodiscard]] std::string_view entry(std::size_t index) const;

  // Appends the leaves to `frontier`. After each begin().
  void end(Sha256& sha256, MerkleFrontier& frontier);

 private:
  std::string bytes_;
  std::vector<std::size_t> entry_ends_;
  std::vector<LeafPlace> places_;
  std::vector<Digest> leaves_;
  LeafHashing hashing_;  // last: its thread uses the others
};

}  // namespace signalbox
