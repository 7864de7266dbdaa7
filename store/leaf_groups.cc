#include "store/leaf_groups.h"

#include <algorithm>
#include <set>

#include "domain/check.h"

namespace signalbox {
namespace {

// The first byte of a stored group distinguishes these; the hashes follow.
constexpr char group_of_leaves = 'l';
constexpr char group_root = 'r';

std::uint64_t group_of(Position position) { return (position - 1) / leaf_group_leaves; }

}  // namespace

std::string encode_leaf_group(const LeafGroup& group) {
  std::string bytes(1, group.is_root ? group_root : group_of_leaves);
  for (const Digest& hash : group.hashes) {
    bytes.append(raw_bytes(hash));
  }
  return bytes;
}

Stored<LeafGroup> decode_leaf_group(std::uint64_t number, std::string_view bytes) {
  LeafGroup group;
  group.number = number;
  group.is_root = bytes.starts_with(group_root);
  const std::size_t hashes = bytes.empty() ? 0 : (bytes.size() - 1) / sizeof(Digest);
  if (hashes == 0 || bytes.size() != 1 + hashes * sizeof(Digest) || hashes > leaf_group_leaves ||
      (group.is_root ? hashes != 1 : !bytes.starts_with(group_of_leaves))) {
    return store_failure(StoreError::Kind::damaged,
                         "the tree's hashes of dropped records can't be read", {},
                         number * leaf_group_leaves + 1);
  }
  for (std::size_t index = 0; index < hashes; ++index) {
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(1 + index * sizeof(Digest)),
                sizeof(Digest), group.hashes.emplace_back().bytes.begin());
  }
  return group;
}

void append_group(MerkleFrontier& tree, const LeafGroup& group, Sha256& sha256) {
  if (group.is_root) {
    append_subtree(tree, group.hashes.front(), leaf_group_level, sha256);
  } else {
    for (const Digest& leaf : group.hashes) append_leaf(tree, leaf, sha256);
  }
}

LeafGrouping::LeafGrouping(const Horizon& before, const std::vector<PositionRange>& kept,
                           Position position)
    : before_(before), kept_(kept), position_(position) {
  filling_.number = before.position / leaf_group_leaves;
}

// Returns whether all 256 leaves of the group lie up to the horizon and none of their records is
// kept.
bool LeafGrouping::is_fully_dropped(std::uint64_t number) const {
  const Position first = number * leaf_group_leaves + 1;
  const Position last = first + leaf_group_leaves - 1;
  if (last > position_) return false;
  const auto reaching = std::lower_bound(
      kept_.begin(), kept_.end(), first,
      [](const PositionRange& range, Position wanted) { return range.last < wanted; });
  return reaching == kept_.end() || reaching->first > last;
}

std::vector<std::uint64_t> LeafGrouping::groups_to_update() const {
  std::set<std::uint64_t> numbers;
  for (const PositionRange& range : before_.kept) {
    for (std::uint64_t number = group_of(range.first); number <= group_of(range.last); ++number) {
      if (is_fully_dropped(number)) numbers.insert(number);
    }
  }
  if (before_.position % leaf_group_leaves != 0) numbers.insert(group_of(before_.position));
  return {numbers.begin(), numbers.end()};
}

void LeafGrouping::take(LeafGroup group) {
  SIGNALBOX_CHECK(!group.is_root);
  if (group.number == filling_.number) {
    filling_ = std::move(group);
  } else {
    put(std::move(group));
  }
}

void LeafGrouping::add(const Digest& leaf) {
  filling_.hashes.push_back(leaf);
  if (filling_.hashes.size() < leaf_group_leaves) return;
  const std::uint64_t number = filling_.number;
  put(std::move(filling_));
  filling_ = {};
  filling_.number = number + 1;
}

void LeafGrouping::put(LeafGroup group) {
  if (is_fully_dropped(group.number)) {
    MerkleFrontier tree;
    append_group(tree, group, sha256_);
    group.hashes = {merkle_root(tree, sha256_)};
    group.is_root = true;
  }
  done_.push_back(std::move(group));
}

std::vector<LeafGroup> LeafGrouping::finish() {
  if (!filling_.hashes.empty()) put(std::move(filling_));
  return std::move(done_);
}

}  // namespace signalbox
