// Encoding a batch with two threads gives the same bytes as encoding its commits one by one.
#include "store/batch_encoder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "store/entry.h"
#include "tests/store/sample_events.h"

namespace signalbox::test {
namespace {

// Returns a source that gives equal bytes to equal sequences of calls.
RandomSource counting() {
  return [next = std::uint64_t{0}](std::span<std::byte> out) mutable {
    std::ranges::fill(out, std::byte{0});
    ++next;
    std::memcpy(out.data(), &next, std::min(out.size(), sizeof next));
  };
}

std::vector<Commit> sample_commits(std::size_t count) {
  std::vector<Commit> commits;
  for (std::size_t index = 0; index < count; ++index) {
    commits.push_back(sample_commit(3 * index + 1, 3));
  }
  return commits;
}

TEST(BatchEncoder, GivesTheEntriesAndTheTreeOfTheCommitsOneByOne) {
  BatchEncoder encoder;
  for (const std::size_t count : {1U, 500U, 2U, 21U, 22U, 0U, 300U}) {
    const std::vector<Commit> commits = sample_commits(count);
    MerkleFrontier frontier;
    Sha256 sha256;
    encoder.begin(commits, counting());

    const RandomSource random = counting();
    MerkleFrontier expected;
    for (std::size_t index = 0; index < count; ++index) {
      std::string entry;
      encode_entry(commits[index], random, sha256, expected, entry);
      ASSERT_EQ(encoder.entry(index), entry) << index << " of " << count;
    }
    encoder.end(sha256, frontier);
    EXPECT_EQ(frontier.leaves, 3 * count);
    EXPECT_EQ(frontier, expected) << count;
  }
}

// Whole subtrees are hashed at once; a batch may begin and end anywhere in one.
TEST(BatchEncoder, GoesOnAtAnyLeaf) {
  BatchEncoder encoder;
  Sha256 sha256;
  MerkleFrontier frontier;
  MerkleFrontier expected;
  const RandomSource random = counting();
  const RandomSource same_random = counting();
  Position first = 1;
  for (const std::size_t count : {1U, 4U, 5U, 16U, 1U, 37U, 100U, 11U, 250U, 2U}) {
    std::vector<Commit> commits;
    for (std::size_t index = 0; index < count; ++index, first += 3) {
      commits.push_back(sample_commit(first, 3));
      std::string entry;
      encode_entry(commits.back(), same_random, sha256, expected, entry);
    }
    encoder.begin(commits, random);
    encoder.end(sha256, frontier);
    ASSERT_EQ(frontier, expected) << "at leaf " << frontier.leaves;
  }
}

// Whichever of the two threads comes first, every leaf is hashed, and none is touched after that.
TEST(BatchEncoder, IsTheSameEveryTime) {
  const std::vector<Commit> commits = sample_commits(200);
  BatchEncoder encoder;
  MerkleFrontier first;
  for (int round = 0; round < 200; ++round) {
    Sha256 sha256;
    MerkleFrontier frontier;
    encoder.begin(commits, counting());
    encoder.end(sha256, frontier);
    if (round == 0) first = frontier;
    ASSERT_EQ(frontier, first) << round;
  }
}

}  // namespace
}  // namespace signalbox::test
