// The Merkle tree hash of RFC 6962, section 2.1, grown one leaf at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "domain/ids.h"
#include "store/sha256.h"

namespace signalbox {

// The right edge of the tree: enough of it to append leaves and to tell the root, in O(log n)
// digests.
struct MerkleFrontier {
  std::uint64_t leaves = 0;
  // Roots of the perfect subtrees that `leaves` consists of, largest (leftmost) first: one for each
  // set bit of `leaves`.
  std::vector<Digest> subtrees;

  friend bool operator==(const MerkleFrontier&, const MerkleFrontier&) = default;
};

// SHA-256(0x01 ‖ left ‖ right)
Digest merkle_node(const Digest& left, const Digest& right, Sha256& sha256);

// `leaf` is a leaf's hash already: SHA-256(0x00 ‖ leaf bytes).
void append_leaf(MerkleFrontier& frontier, const Digest& leaf, Sha256& sha256);

// The same of a perfect subtree of 2^level leaves. Those before it must be a multiple of as many.
void append_subtree(MerkleFrontier& frontier, const Digest& root, unsigned level, Sha256& sha256);

// The root of the whole tree; of an empty one, SHA-256 of nothing.
Digest merkle_root(const MerkleFrontier& frontier, Sha256& sha256);

}  // namespace signalbox
