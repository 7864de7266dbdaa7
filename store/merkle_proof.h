// Inclusion proofs for an RFC 6962 Merkle tree (section 2.1.1), and their verification.
//
// Leaves are counted from 0 here, as in the RFC: the record at position p is leaf p - 1.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "store/merkle_tree.h"

namespace signalbox {

// The leaves begin … end - 1.
struct LeafRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  friend bool operator==(const LeafRange&, const LeafRange&) = default;
};

// Returns the ranges of leaves whose tree hashes make the inclusion proof of leaf `index` < `size`,
// from the leaf's sibling up to the root's child.
std::vector<LeafRange> inclusion_ranges(std::uint64_t index, std::uint64_t size);

// Returns whether `proof` leads from `leaf` at `index` to `root`, the root of a tree of `size`
// leaves.
bool proves_inclusion(const Digest& leaf, std::uint64_t index, std::uint64_t size,
                      std::span<const Digest> proof, const Digest& root, Sha256& sha256);

// A Merkle tree over a whole log in little memory: 32 bytes for every 256 leaves, and all leaves
// only of the groups of 256 (tiles) in which a proof will be asked for.
class SparseTree {
 public:
  static constexpr std::uint64_t tile_leaves = 256;

  // Appends the next leaf. `wanted` must be true if proof() will be called for it.
  void add(const Digest& leaf, bool wanted, Sha256& sha256);

  // Appends 256 leaves by their root; no proof can be asked for them. The number of leaves before
  // must be a multiple of 256.
  void add_tile(const Digest& root);

  [[nodiscard]] std::uint64_t leaves() const { return leaves_; }
  [[nodiscard]] Digest root(Sha256& sha256) const { return range({0, leaves_}, sha256); }
  // Returns the inclusion proof of a wanted leaf, in the tree of all leaves added so far.
  [[nodiscard]] std::vector<Digest> proof(std::uint64_t index, Sha256& sha256) const;

 private:
  struct Tile {
    std::uint64_t number = 0;
    std::vector<Digest> leaves;
  };

  [[nodiscard]] Digest range(const LeafRange& range, Sha256& sha256) const;
  [[nodiscard]] const Tile& tile_of(std::uint64_t index) const;

  std::uint64_t leaves_ = 0;
  std::vector<Digest> full_;  // roots of the full tiles
  std::vector<Tile> kept_;    // full tiles with a wanted leaf, by ascending number
  Tile last_;                 // the incomplete last tile
  bool last_wanted_ = false;
};

}  // namespace signalbox
