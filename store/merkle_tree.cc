#include "store/merkle_tree.h"

#include "domain/check.h"

namespace signalbox {

Digest merkle_node(const Digest& left, const Digest& right, Sha256& sha256) {
  return sha256.update("\x01").update(left).update(right).finish();
}

void append_leaf(MerkleFrontier& frontier, const Digest& leaf, Sha256& sha256) {
  append_subtree(frontier, leaf, 0, sha256);
}

void append_subtree(MerkleFrontier& frontier, const Digest& root, unsigned level, Sha256& sha256) {
  SIGNALBOX_CHECK(frontier.leaves % (std::uint64_t{1} << level) == 0);
  Digest subtree = root;
  // Like the carry when 1 is added to a binary number: each trailing 1 is a perfect subtree that,
  // joined with the one just completed, makes one twice as large.
  for (std::uint64_t carry = frontier.leaves >> level; (carry & 1) != 0; carry >>= 1) {
    subtree = merkle_node(frontier.subtrees.back(), subtree, sha256);
    frontier.subtrees.pop_back();
  }
  frontier.subtrees.push_back(subtree);
  frontier.leaves += std::uint64_t{1} << level;
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
