// Proofs about an RFC 6962 Merkle tree: that a leaf is in it (section 2.1.1), and their check.
//
// Leaves are counted from 0 here, as that RFC does: the record at position p is leaf p - 1.
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

// Whose tree hashes make the inclusion proof of leaf `index` < `size`, from the leaf's sibling up
// to the root's child.
std::vector<LeafRange> inclusion_ranges(std::uint64_t index, std::uint64_t size);

// Whether `proof` leads from `leaf` at `index` to the root of a tree of `size` leaves.
bool proves_inclusion(const Digest& leaf, std::uint64_t index, std::uint64_t size,
                      std::span<const Digest> proof, const Digest& root, Sha256& sha256);

// A tree over a whole log in little memory: 32 bytes for every 256 leaves, and all leaves only
// around those that a proof will be asked for.
class SparseTree {
 public:
  static constexpr std::uint64_t tile_leaves = 256;

  // The next leaf. `wanted` where proof() will be asked for it.
  void add(const Digest& leaf, bool wanted, Sha256& sha256);

  // The root of the next 256 leaves, of which no proof will be asked for. Those before it are a
  // multiple of as many.
  void add_tile(const Digest& root);

  [[nodiscard]] std::uint64_t leaves() const { return leaves_; }
  [[nodiscard]] Digest root(Sha256& sha256) const { return range({0, leaves_}, sha256); }
  // Of a wanted leaf, in the tree of all that were added.
  [[nodiscard]] std::vector<Digest> proof(std::uint64_t index, Sha256& sha256) const;

 private:
  struct Tile {
    std::uint64_t number = 0;
    std::vector<Digest> leaves;
  };

  [[nodiscard]] Digest range(const LeafRange& range, Sha256& sha256) const;
  [[nodiscard]] const Tile& tile_of(std::uint64_t index) const;

  std::uint64_t leaves_ = 0;
  std::vector<Digest> full_;  // the roots of the full tiles
  std::vector<Tile> kept_;    // ascending
  Tile last_;                 // the one that is being filled
  bool last_wanted_ = false;
};

}  // namespace signalbox
