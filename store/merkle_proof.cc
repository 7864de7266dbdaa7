#include "store/merkle_proof.h"

#include <algorithm>
#include <bit>

#include "domain/check.h"

namespace signalbox {
namespace {

Digest root_of(std::span<const Digest> leaves, Sha256& sha256) {
  MerkleFrontier frontier;
  for (const Digest& leaf : leaves) append_leaf(frontier, leaf, sha256);
  return merkle_root(frontier, sha256);
}

}  // namespace

std::vector<LeafRange> inclusion_ranges(std::uint64_t index, std::uint64_t size) {
  SIGNALBOX_CHECK(index < size);
  std::vector<LeafRange> ranges;
  LeafRange tree{0, size};
  while (tree.end - tree.begin > 1) {
    // The left part is the largest power of two that is smaller than the whole (RFC 6962, section
    // 2.1).
    const std::uint64_t middle = tree.begin + std::bit_floor(tree.end - tree.begin - 1);
    if (index < middle) {
      ranges.push_back({middle, tree.end});
      tree.end = middle;
    } else {
      ranges.push_back({tree.begin, middle});
      tree.begin = middle;
    }
  }
  std::reverse(ranges.begin(), ranges.end());
  return ranges;
}

bool proves_inclusion(const Digest& leaf, std::uint64_t index, std::uint64_t size,
                      std::span<const Digest> proof, const Digest& root, Sha256& sha256) {
  if (index >= size) return false;
  const auto ranges = inclusion_ranges(index, size);
  if (ranges.size() != proof.size()) return false;
  Digest hash = leaf;
  for (std::size_t step = 0; step < ranges.size(); ++step) {
    hash = ranges[step].begin > index ? merkle_node(hash, proof[step], sha256)
                                      : merkle_node(proof[step], hash, sha256);
  }
  return hash == root;
}

void SparseTree::add(const Digest& leaf, bool wanted, Sha256& sha256) {
  last_.leaves.push_back(leaf);
  last_wanted_ = last_wanted_ || wanted;
  ++leaves_;
  if (last_.leaves.size() < tile_leaves) return;
  full_.push_back(root_of(last_.leaves, sha256));
  if (last_wanted_) kept_.push_back(last_);
  last_.leaves.clear();
  ++last_.number;
  last_wanted_ = false;
}

void SparseTree::add_tile(const Digest& root) {
  SIGNALBOX_CHECK(last_.leaves.empty());
  full_.push_back(root);
  leaves_ += tile_leaves;
  ++last_.number;
}

std::vector<Digest> SparseTree::proof(std::uint64_t index, Sha256& sha256) const {
  std::vector<Digest> hashes;
  for (const LeafRange& each : inclusion_ranges(index, leaves_)) {
    hashes.push_back(range(each, sha256));
  }
  return hashes;
}

const SparseTree::Tile& SparseTree::tile_of(std::uint64_t index) const {
  const std::uint64_t number = index / tile_leaves;
  if (number == last_.number) return last_;
  const auto kept =
      std::lower_bound(kept_.begin(), kept_.end(), number,
                       [](const Tile& tile, std::uint64_t wanted) { return tile.number < wanted; });
  SIGNALBOX_CHECK(kept != kept_.end() && kept->number == number);
  return *kept;
}

// The range lies either within one tile, or it consists of whole tiles and, at the end of the tree,
// the incomplete last tile.
Digest SparseTree::range(const LeafRange& range, Sha256& sha256) const {
  const std::uint64_t first = range.begin / tile_leaves;
  if (range.begin % tile_leaves != 0 || range.end - range.begin < tile_leaves) {
    if (range.begin == range.end) return root_of({}, sha256);
    const Tile& tile = tile_of(range.begin);
    return root_of(
        std::span(tile.leaves).subspan(range.begin % tile_leaves, range.end - range.begin), sha256);
  }
  MerkleFrontier whole;
  for (std::uint64_t tile = first; tile < range.end / tile_leaves; ++tile) {
    append_leaf(whole, full_[tile], sha256);
  }
  const std::uint64_t rest = range.end % tile_leaves;
  if (rest == 0) return merkle_root(whole, sha256);
  Digest root = root_of(std::span(last_.leaves).first(rest), sha256);
  for (auto left = whole.subtrees.rbegin(); left != whole.subtrees.rend(); ++left) {
    root = merkle_node(*left, root, sha256);
  }
  return root;
}

}  // namespace signalbox
