// The Merkle tree hash of RFC 6962, section 2.1, grown one leaf at a time.
#pragma once

#include <string_view>

#include "store/merkle_frontier.h"
#include "store/sha256.h"

namespace signalbox {

// SHA-256(0x01 ‖ left ‖ right)
Digest merkle_node(const Digest& left, const Digest& right, Sha256& sha256);

// `leaf` is a leaf's hash already: SHA-256(0x00 ‖ leaf bytes).
void append_leaf(MerkleFrontier& frontier, const Digest& leaf, Sha256& sha256);

// The same of a perfect subtree of 2^level leaves. Those before it must be a multiple of as many.
void append_subtree(MerkleFrontier& frontier, const Digest& root, unsigned level, Sha256& sha256);

// The root of the whole tree; of an empty one, SHA-256 of nothing.
Digest merkle_root(const MerkleFrontier& frontier, Sha256& sha256);

}  // namespace signalbox
