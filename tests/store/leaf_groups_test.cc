// The hashes that the tree keeps of dropped records suffice for every proof about the others,
// whichever records are dropped and in however many steps.
#include "store/leaf_groups.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>

#include "store/merkle_proof.h"

namespace signalbox {
namespace {

class DroppedTree {
 public:
  explicit DroppedTree(std::uint64_t size) {
    for (std::uint64_t number = 0; number < size; ++number) {
      leaves_.push_back(sha256("leaf " + std::to_string(number)));
    }
  }

  // Drops all records up to `position` except `kept`, which are records that the log has.
  void drop(Position position, std::vector<PositionRange> kept) {
    LeafGrouping grouping(horizon_, kept, position);
    for (const std::uint64_t number : grouping.groups_to_update()) {
      auto group = decode_leaf_group(number, stored_.at(number));
      RC_ASSERT(group.has_value());
      grouping.take(std::move(*group));
    }
    for (Position each = horizon_.position + 1; each <= position; ++each) {
      grouping.add(leaves_[each - 1]);
      append_leaf(horizon_.frontier, leaves_[each - 1], sha256_);
    }
    for (const LeafGroup& group : grouping.finish()) {
      stored_[group.number] = encode_leaf_group(group);
    }
    horizon_.position = position;
    horizon_.kept = std::move(kept);
  }

  // Checks that the root, and the proof of every remaining record, are those of the whole tree.
  void check() {
    MerkleFrontier tree;
    for (const auto& [number, bytes] : stored_) {
      append_group(tree, decode_leaf_group(number, bytes).value(), sha256_);
    }
    RC_ASSERT(tree == horizon_.frontier);
    SparseTree whole;
    SparseTree left;
    for (const auto& [number, bytes] : stored_) {
      const LeafGroup group = decode_leaf_group(number, bytes).value();
      if (group.is_root) {
        left.add_tile(group.hashes.front());
      } else {
        for (const Digest& leaf : group.hashes) left.add(leaf, true, sha256_);
      }
    }
    for (const Digest& leaf : leaves_) whole.add(leaf, true, sha256_);
    for (std::uint64_t index = left.leaves(); index < leaves_.size(); ++index) {
      left.add(leaves_[index], true, sha256_);
    }
    RC_ASSERT(left.root(sha256_) == whole.root(sha256_));
    for (std::uint64_t index = 0; index < leaves_.size(); ++index) {
      if (horizon_.first_dropped(index + 1, index + 1)) continue;
      RC_ASSERT(left.proof(index, sha256_) == whole.proof(index, sha256_));
    }
  }

  // Checks that a group of which all records are dropped takes one hash.
  void check_size() {
    for (const auto& [number, bytes] : stored_) {
      const Position first = number * leaf_group_leaves + 1;
      const Position last = first + leaf_group_leaves - 1;
      bool gone = last <= horizon_.position;
      for (Position each = first; each <= last && gone; ++each) {
        gone = horizon_.first_dropped(each, each).has_value();
      }
      RC_ASSERT((bytes.size() == 1 + sizeof(Digest)) == (gone || horizon_.position == first));
    }
  }

  [[nodiscard]] const Horizon& horizon() const { return horizon_; }

 private:
  std::vector<Digest> leaves_;
  std::map<std::uint64_t, std::string> stored_;
  Horizon horizon_;
  Sha256 sha256_;
};

// Returns some of the records up to `position` that the log has.
std::vector<PositionRange> some_of(const Horizon& before, Position position) {
  std::vector<PositionRange> kept;
  const auto one_in = *rc::gen::element<std::uint64_t>(2, 50, 700, 100'000);
  for (Position each = 1; each <= position; ++each) {
    const bool is_there = !before.first_dropped(each, each);
    if (is_there && *rc::gen::inRange<std::uint64_t>(0, one_in) == 0) {
      append_range(kept, {each, each});
    }
  }
  return kept;
}

TEST(LeafGroups, AreEnoughForEveryProof) {
  EXPECT_TRUE(rc::check("of what is left after any drops", [] {
    const auto size = *rc::gen::inRange<std::uint64_t>(1, 1600);
    DroppedTree tree(size);
    const auto drops = *rc::gen::inRange(1, 4);
    for (int number = 0; number < drops && tree.horizon().position < size; ++number) {
      const auto position = *rc::gen::inRange<Position>(tree.horizon().position + 1, size + 1);
      tree.drop(position, some_of(tree.horizon(), position));
      tree.check_size();
    }
    tree.check();
  }));
}

TEST(LeafGroups, OfOtherBytesAreDamaged) {
  const std::string root = encode_leaf_group({3, true, {sha256("a")}});
  ASSERT_TRUE(decode_leaf_group(3, root));
  for (const std::string& bytes : {std::string(), root.substr(0, 32), root + "x",
                                   "x" + root.substr(1), root + root.substr(1), std::string("l")}) {
    const auto group = decode_leaf_group(3, bytes);
    ASSERT_FALSE(group) << bytes.size();
    EXPECT_EQ(group.error().kind, StoreError::Kind::damaged);
  }
}

TEST(Horizon, TellsWhatIsThere) {
  Horizon horizon;
  EXPECT_FALSE(horizon.first_dropped(1, 100));
  EXPECT_EQ(horizon.next_present(1), 1U);
  horizon.position = 20;
  append_range(horizon.kept, {3, 4});
  append_range(horizon.kept, {5, 6});
  append_range(horizon.kept, {20, 20});
  EXPECT_EQ(horizon.kept.size(), 2U);
  EXPECT_EQ(horizon.first_dropped(0, 100), 1U);
  EXPECT_EQ(horizon.first_dropped(3, 6), std::nullopt);
  EXPECT_EQ(horizon.first_dropped(4, 7), 7U);
  EXPECT_EQ(horizon.first_dropped(20, 100), std::nullopt);
  EXPECT_EQ(horizon.first_dropped(19, 19), 19U);
  EXPECT_EQ(horizon.next_present(1), 3U);
  EXPECT_EQ(horizon.next_present(5), 5U);
  EXPECT_EQ(horizon.next_present(7), 20U);
  EXPECT_EQ(horizon.next_present(21), 21U);
  Sha256 sha256;
  for (int leaf = 0; leaf < 20; ++leaf) append_leaf(horizon.frontier, Digest{}, sha256);
  horizon.dropped_at = 25;
  horizon.base_key = 23;
  const std::string bytes = encode_horizon(horizon);
  EXPECT_EQ(decode_horizon(bytes).value(), horizon);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string other = bytes;
    other[at] = static_cast<char>(other[at] ^ 1);
    EXPECT_FALSE(decode_horizon(other)) << at;
    EXPECT_FALSE(decode_horizon(bytes.substr(0, at))) << at;
  }
}

}  // namespace
}  // namespace signalbox
