// The Merkle tree hash of RFC 6962, section 2.1, computed incrementally as leaves are appended.
#pragma once

#include <cstdint>
#include <vector>

#include "domain/ids.h"
#include "store/sha256.h"

namespace signalbox {

// The right edge of the tree, which suffices to append leaves and to compute the root: O(log n)
// digests.
struct MerkleFrontier {
  std::uint64_t leaves = 0;
  // Roots of the perfect subtrees that the tree consists of, largest (leftmost) first: one for each
  // set bit of `leaves`.
  std::vector<Digest> subtrees;

  friend bool operator==(const MerkleFrontier&, const MerkleFrontier&) = default;
};

// Returns SHA-256(0x01 ‖ left ‖ right).
Digest merkle_node(const Digest& left, const Digest& right, Sha256& sha256);

// Appends a leaf. `leaf` is the leaf hash, SHA-256(0x00 ‖ leaf bytes).
void append_leaf(MerkleFrontier& frontier, const Digest& leaf, Sha256& sha256);

// Appends a perfect subtree of 2^level leaves. The number of leaves before must be a multiple of
// 2^level.
void append_subtree(MerkleFrontier& frontier, const Digest& root, unsigned level, Sha256& sha256);

// Returns the root of the whole tree; for an empty tree, SHA-256 of the empty string.
Digest merkle_root(const MerkleFrontier& frontier, Sha256& sha256);

}  // namespace signalbox
