// Inclusion proofs of RFC 6962, compared with the recursive definition of the RFC; and tree heads.
#include "store/merkle_proof.h"

#include <gtest/gtest.h>

#include <bit>

#include "store/tree_head.h"

namespace signalbox {
namespace {

std::vector<Digest> proof_leaves(std::uint64_t count) {
  std::vector<Digest> leaves;
  for (std::uint64_t number = 0; number < count; ++number) {
    leaves.push_back(sha256("leaf " + std::to_string(number)));
  }
  return leaves;
}

// RFC 6962, sections 2.1 and 2.1.1, as defined there.
Digest recursive_root(std::span<const Digest> leaves) {
  if (leaves.empty()) return sha256("");
  if (leaves.size() == 1) return leaves.front();
  const std::size_t left = std::bit_floor(leaves.size() - 1);
  Sha256 hashing;
  return merkle_node(recursive_root(leaves.first(left)), recursive_root(leaves.subspan(left)),
                     hashing);
}
std::vector<Digest> recursive_path(std::uint64_t index, std::span<const Digest> leaves) {
  if (leaves.size() == 1) return {};
  const std::size_t left = std::bit_floor(leaves.size() - 1);
  std::vector<Digest> hashes;
  if (index < left) {
    hashes = recursive_path(index, leaves.first(left));
    hashes.push_back(recursive_root(leaves.subspan(left)));
  } else {
    hashes = recursive_path(index - left, leaves.subspan(left));
    hashes.push_back(recursive_root(leaves.first(left)));
  }
  return hashes;
}

SparseTree tree_over(const std::vector<Digest>& leaves, std::uint64_t wanted) {
  SparseTree tree;
  Sha256 sha256;
  for (const Digest& leaf : leaves) tree.add(leaf, tree.leaves() == wanted, sha256);
  return tree;
}

TEST(MerkleProof, IsThatOfTheRfcInTreesOfEverySize) {
  Sha256 sha256;
  for (const std::uint64_t size : {1, 2, 3, 5, 8, 255, 256, 257, 511, 512, 513, 769, 1000, 2048}) {
    const auto leaves = proof_leaves(size);
    const Digest root = recursive_root(leaves);
    for (std::uint64_t index = 0; index < size; index += 1 + size / 13) {
      const SparseTree tree = tree_over(leaves, index);
      EXPECT_EQ(tree.root(sha256), root) << size;
      const auto proof = tree.proof(index, sha256);
      EXPECT_EQ(proof, recursive_path(index, leaves)) << index << " of " << size;
      EXPECT_TRUE(proves_inclusion(leaves[index], index, size, proof, root, sha256));
    }
  }
}

TEST(MerkleProof, EveryOtherProofIsNone) {
  Sha256 sha256;
  const std::uint64_t size = 300;
  const auto leaves = proof_leaves(size);
  const Digest root = recursive_root(leaves);
  const std::uint64_t index = 270;
  const auto proof = recursive_path(index, leaves);
  const auto holds = [&](std::uint64_t at, std::uint64_t of, std::span<const Digest> hashes) {
    return proves_inclusion(leaves[index], at, of, hashes, root, sha256);
  };
  ASSERT_TRUE(holds(index, size, proof));
  EXPECT_FALSE(holds(index + 1, size, proof));
  EXPECT_FALSE(holds(size, size, proof));
  EXPECT_FALSE(holds(index, size, std::span(proof).first(proof.size() - 1)));
  for (std::size_t step = 0; step < proof.size(); ++step) {
    auto changed = proof;
    changed[step].bytes[31] ^= 1;
    EXPECT_FALSE(holds(index, size, changed));
  }
}

TEST(TreeHead, IsReadOnlyAsItIsWritten) {
  const TreeHead head{"example.com/box", 42, sha256("root")};
  const std::string text = tree_head_text(head);
  EXPECT_EQ(parse_tree_head(text), head);
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::string changed = text;
    changed[at] = changed[at] == '\n' ? ' ' : '\n';
    EXPECT_NE(parse_tree_head(changed), head) << at;
    EXPECT_EQ(parse_tree_head(text.substr(0, at)), std::nullopt);
  }
  EXPECT_EQ(parse_tree_head(text + "more\n"), std::nullopt);
  EXPECT_EQ(parse_tree_head("example.com/box\n042\n" + text.substr(text.find("42\n") + 3)),
            std::nullopt);
}

TEST(TreeHead, IsOpenedOnlyInItsOwnName) {
  const NoteSigner own = NoteSigner::generate("example.com/box");
  const NoteSigner other = NoteSigner::generate("example.com/other");
  const std::string text = tree_head_text({"example.com/box", 42, sha256("root")});
  EXPECT_TRUE(open_tree_head(sign_note(text, std::vector{own}), std::vector{own.verifier()}));
  EXPECT_FALSE(open_tree_head(sign_note(text, std::vector{other}), std::vector{other.verifier()}));
}

}  // namespace
}  // namespace signalbox
