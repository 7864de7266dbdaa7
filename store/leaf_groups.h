// The hashes that the tree keeps of dropped records: for each aligned group of 256 leaves the root,
// once all of its records were dropped; until then each of its leaves up to the horizon. This
// suffices for a proof about any remaining record, and 256 dropped records cost 32 bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "store/horizon.h"
#include "store/merkle_tree.h"

namespace signalbox {

// Level of a group's root in the tree, and the number of leaves below it.
inline constexpr unsigned leaf_group_level = 8;
inline constexpr std::uint64_t leaf_group_leaves = std::uint64_t{1} << leaf_group_level;

struct LeafGroup {
  std::uint64_t number = 0;  // the group's leaves begin at number * 256, counted from 0
  bool is_root = false;      // `hashes` is one hash, the root of all 256 leaves
  std::vector<Digest> hashes;

  friend bool operator==(const LeafGroup&, const LeafGroup&) = default;
};

// Encode and decode a stored group; its number is in the key. Decoding fails with `damaged`.
std::string encode_leaf_group(const LeafGroup& group);
Stored<LeafGroup> decode_leaf_group(std::uint64_t number, std::string_view bytes);

// Appends the group, which must be the next one, to the tree.
void append_group(MerkleFrontier& tree, const LeafGroup& group, Sha256& sha256);

// Computes the groups to store for a drop, from those of the drop before it and the leaves since.
class LeafGrouping {
 public:
  // `before` is the horizon of the last drop (position 0 if there was none), `kept` and `position`
  // are those of the new one. References to `before` and `kept` are held.
  LeafGrouping(const Horizon& before, const std::vector<PositionRange>& kept, Position position);

  // Returns the numbers of the stored groups that this drop changes. The caller passes each of them
  // to take(), ascending, and then every leaf after the old horizon to add().
  [[nodiscard]] std::vector<std::uint64_t> groups_to_update() const;
  void take(LeafGroup group);
  void add(const Digest& leaf);

  // Returns all groups that are to be stored, replacing those of the same number. Call it after the
  // last leaf.
  std::vector<LeafGroup> finish();

 private:
  [[nodiscard]] bool is_fully_dropped(std::uint64_t number) const;
  void put(LeafGroup group);

  const Horizon& before_;
  const std::vector<PositionRange>& kept_;
  Position position_;
  LeafGroup filling_;
  std::vector<LeafGroup> done_;
  Sha256 sha256_;
};

}  // namespace signalbox
