// The right edge of an RFC 6962 Merkle tree (section 2.1): enough of it to append leaves and to
// tell the root, in O(log n) digests.
#pragma once

#include <cstdint>
#include <vector>

#include "domain/ids.h"

namespace signalbox {

struct MerkleFrontier {
  std::uint64_t leaves = 0;
  // Roots of the perfect subtrees that `leaves` consists of, largest (leftmost) first: one for each
  // set bit of `leaves`.
  std::vector<Digest> subtrees;

  friend bool operator==(const MerkleFrontier&, const MerkleFrontier&) = default;
};

}  // namespace signalbox
