#include "store/merkle_tree.h"

namespace signalbox {

Digest merkle_node(const Digest& left, const Digest& right, Sha256& sha256) {
  return sha256.update("\x01").update(left).update(right).finish();
}

void append_leaf(MerkleFrontier& frontier, const Digest& leaf, Sha256& sha256) {
  Digest subtree = leaf;
  // As in adding 1 to a binary number: each trailing 1 of `leaves` is a perfect subtree that, with
  // the one just completed, makes one twice as large.
  for (std::uint64_t carry = frontier.leaves; (carry & 1) != 0; carry >>= 1) {
    subtree = merkle_node(frontier.subtrees.back(), subtree, sha256);
    frontier.subtrees.pop_back();
  }
  frontier.subtrees.push_back(subtree);
  ++frontier.leaves;
}

Digest merkle_root(const MerkleFrontier& frontier, Sha256& sha256) {
  if (frontier.subtrees.empty()) return sha256.finish();
  Digest root = frontier.subtrees.back();
  for (std::size_t i = frontier.subtrees.size() - 1; i > 0; --i) {
    root = merkle_node(frontier.subtrees[i - 1], root, sha256);
  }
  return root;
}

}  // namespace signalbox
