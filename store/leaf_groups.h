// What the tree keeps of records that were dropped: for each aligned group of 256 leaves its root,
// once the whole group is gone; until then every leaf of it up to the horizon. So any proof about a
// record that is there can be made, and 256 dropped records cost 32 bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "store/horizon.h"
#include "store/merkle_tree.h"

namespace signalbox {

// The level of a group's root, and how many leaves are below it.
inline constexpr unsigned leaf_group_level = 8;
inline constexpr std::uint64_t leaf_group_leaves = std::uint64_t{1} << leaf_group_level;

struct LeafGroup {
  std::uint64_t number = 0;  // of the leaves from number * 256 on, counted from 0
  bool is_root = false;      // then there is one hash, of all 256
  std::vector<Digest> hashes;

  friend bool operator==(const LeafGroup&, const LeafGroup&) = default;
};

// What is stored, by the group's number.
std::string encode_leaf_group(const LeafGroup& group);
Stored<LeafGroup> decode_leaf_group(std::uint64_t number, std::string_view bytes);

// The tree goes on with the group, which is the next one.
void append_group(MerkleFrontier& tree, const LeafGroup& group, Sha256& sha256);

// The groups that a drop leaves behind, made from those of the drop before it and the leaves since.
class LeafGrouping {
 public:
  // Nothing before it was dropped, or everything up to `before`. `kept` as of the new horizon.
  LeafGrouping(const Horizon& before, const std::vector<PositionRange>& kept, Position position);

  // The numbers of the groups of the drop before that aren't as they were: the caller puts them in
  // by take(), ascending, and then every leaf after the old horizon by add().
  [[nodiscard]] std::vector<std::uint64_t> reconsidered() const;
  void take(LeafGroup group);
  void add(const Digest& leaf);

  // After the last leaf: all groups that are to be stored, in place of those of their numbers.
  std::vector<LeafGroup> finish();

 private:
  [[nodiscard]] bool is_whole_and_gone(std::uint64_t number) const;
  void put(LeafGroup group);

  const Horizon& before_;
  const std::vector<PositionRange>& kept_;
  Position position_;
  LeafGroup filling_;
  std::vector<LeafGroup> done_;
  Sha256 sha256_;
};

}  // namespace signalbox
