// SHA-256, the Merkle tree of RFC 6962, and the encoding of its frontier (the head).
#include "store/merkle_tree.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <bit>
#include <span>
#include <string>
#include <vector>

#include "store/head.h"

namespace signalbox::test {
namespace {

std::string raw(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.bytes.data()), digest.bytes.size()};
}

// RFC 6962, section 2.1, as defined there: MTH over a list of leaf hashes.
Digest naive_root(std::span<const Digest> leaves) {
  if (leaves.empty()) return sha256("");
  if (leaves.size() == 1) return leaves.front();
  const std::size_t k = std::bit_ceil(leaves.size()) / 2;  // the largest power of two below n
  return sha256("\x01" + raw(naive_root(leaves.first(k))) + raw(naive_root(leaves.subspan(k))));
}

std::vector<Digest> leaves_of(std::size_t count) {
  std::vector<Digest> leaves;
  for (std::size_t i = 0; i < count; ++i) {
    leaves.push_back(sha256(std::string(1, '\0') + "leaf " + std::to_string(i)));
  }
  return leaves;
}

MerkleFrontier frontier_of(std::span<const Digest> leaves) {
  Sha256 hasher;
  MerkleFrontier frontier;
  for (const Digest& leaf : leaves) append_leaf(frontier, leaf, hasher);
  return frontier;
}

Digest root_of(const MerkleFrontier& frontier) {
  Sha256 hasher;
  return merkle_root(frontier, hasher);
}

TEST(Sha256, GivesThePublishedDigests) {
  EXPECT_EQ(to_hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(to_hex(sha256("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Sha256, OfAMillionLettersIsThePublishedOneInWhateverPieces) {
  for (const std::size_t piece : {1U, 63U, 511U, 512U, 513U, 700U, 10'000U, 1'000'000U}) {
    const std::string letters(piece, 'a');
    Sha256 hasher;
    for (std::size_t left = 1'000'000; left > 0;) {
      const std::size_t size = std::min(left, piece);
      hasher.update(std::string_view(letters).substr(0, size));
      left -= size;
    }
    EXPECT_EQ(to_hex(hasher.finish()),
              "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
        << piece;
  }
}

TEST(Sha256, BeginsAnewAfterEachDigest) {
  Sha256 hasher;
  EXPECT_EQ(hasher.update("a").update("bc").finish(), sha256("abc"));
  EXPECT_EQ(hasher.finish(), sha256(""));
  EXPECT_EQ(hasher.update("abc").finish(), sha256("abc"));
}

TEST(MerkleTree, OfNothingIsTheDigestOfNothing) { EXPECT_EQ(root_of({}), sha256("")); }

TEST(MerkleTree, HasTheRootOfTheDefinitionAtEverySmallSize) {
  const std::vector<Digest> leaves = leaves_of(130);
  for (std::size_t size = 0; size <= leaves.size(); ++size) {
    const std::span<const Digest> some = std::span(leaves).first(size);
    EXPECT_EQ(root_of(frontier_of(some)), naive_root(some)) << size;
  }
}

TEST(MerkleTree, HasTheRootOfTheDefinitionAtAnySize) {
  EXPECT_TRUE(rc::check("roots agree", [] {
    const std::vector<Digest> leaves = leaves_of(*rc::gen::inRange<std::size_t>(0, 3000));
    RC_ASSERT(root_of(frontier_of(leaves)) == naive_root(leaves));
  }));
}

TEST(MerkleTree, ChangesWithTheOrderOfLeaves) {
  std::vector<Digest> leaves = leaves_of(7);
  const Digest before = root_of(frontier_of(leaves));
  std::swap(leaves[2], leaves[5]);
  EXPECT_NE(root_of(frontier_of(leaves)), before);
}

TEST(Head, GivesTheFrontierBack) {
  for (const std::size_t size : {0U, 1U, 2U, 3U, 64U, 127U}) {
    const MerkleFrontier frontier = frontier_of(leaves_of(size));
    std::string bytes;
    encode_head(frontier, bytes);
    const auto decoded = decode_head(bytes);
    ASSERT_TRUE(decoded);
    EXPECT_EQ(*decoded, frontier);
  }
}

TEST(Head, FindsEveryChangedOrMissingByte) {
  std::string bytes;
  encode_head(frontier_of(leaves_of(5)), bytes);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string changed = bytes;
    changed[i] = static_cast<char>(changed[i] ^ 4);
    EXPECT_FALSE(decode_head(changed)) << i;
    EXPECT_FALSE(decode_head(bytes.substr(0, i))) << i;
  }
}

}  // namespace
}  // namespace signalbox::test
