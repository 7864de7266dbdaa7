#include "store/log_tiles.h"

#include <algorithm>
#include <cstddef>

#include "domain/check.h"
#include "domain/try.h"

namespace signalbox {
namespace {

static_assert(leaf_group_leaves == tile_width);

void append_hash(std::string& out, const Digest& digest) { out.append(raw_bytes(digest)); }

tl::unexpected<StoreError> no_such_tile(const TilePath& tile) {
  return store_failure(StoreError::Kind::not_found, "the log has no " + tile_path(tile) + " now");
}

}  // namespace

void LogTiles::add(const Digest& leaf) {
  last_.push_back(leaf);
  if (last_.size() < tile_width) return;
  MerkleFrontier group;
  for (const Digest& each : last_) append_leaf(group, each, sha256_);
  roots_.push_back(merkle_root(group, sha256_));
  append_leaf(groups_, roots_.back(), sha256_);
  last_.clear();
}

void LogTiles::add_group(const LeafGroup& group) {
  if (group.number != roots_.size()) return;
  if (group.is_root) {
    last_.clear();
    roots_.push_back(group.hashes.front());
    append_leaf(groups_, roots_.back(), sha256_);
    return;
  }
  for (std::size_t at = last_.size(); at < group.hashes.size(); ++at) add(group.hashes[at]);
}

Stored<void> LogTiles::read_more() {
  if (log_.horizon().position > leaves()) {
    TRY(log_.scan_groups([this](LeafGroup&& group) { add_group(group); }));
  }
  const Position from = leaves() + 1;
  const Position to = std::min(log_.tail(), leaves() + records_read_max);
  if (from > to) return {};
  TRY(log_.scan_frames(from, to, [this](const Frame& frame) {
    add(leaf_hash(frame, sha256_));
    return true;
  }));
  return {};
}

Stored<std::optional<MerkleFrontier>> LogTiles::tree() {
  const std::lock_guard lock(mutex_);
  const Position tail = log_.tail();
  TRY(read_more());
  if (leaves() < tail) return std::nullopt;
  // One bit of the number of leaves is one subtree, so those of the groups are the first ones.
  MerkleFrontier tree{roots_.size() * tile_width, groups_.subtrees};
  for (const Digest& leaf : last_) append_leaf(tree, leaf, sha256_);
  return tree;
}

Stored<std::string> LogTiles::read(const TilePath& tile) {
  const std::lock_guard lock(mutex_);
  const unsigned level = tile.level.value_or(0);
  const std::uint64_t hashes = leaves() >> (tile_bits * level);
  if (tile.number > hashes / tile_width) return no_such_tile(tile);
  const std::uint64_t first = tile.number * tile_width;
  if (first + tile.width > hashes) return no_such_tile(tile);
  if (!tile.level) return read_entries(first + 1, tile.width);
  if (level == 0) return read_leaves(tile);
  return hashes_above(tile);
}

Stored<std::string> LogTiles::read_entries(Position first, std::uint64_t count) {
  std::string bytes;
  TRY(log_.scan_frames(first, first + count - 1, [this, &bytes](const Frame& frame) {
    const std::size_t entry_bytes = frame.header.size() + sizeof(Digest);
    SIGNALBOX_CHECK(entry_bytes <= 0xffff);
    bytes.push_back(static_cast<char>(entry_bytes >> 8));
    bytes.push_back(static_cast<char>(entry_bytes & 0xff));
    bytes.append(frame.header);
    append_hash(bytes, payload_digest(frame, sha256_));
    return true;
  }));
  return bytes;
}

Stored<std::vector<Digest>> LogTiles::kept_leaves(std::uint64_t number) const {
  std::vector<Digest> kept;
  TRY(log_.scan_groups([number, &kept](LeafGroup&& group) {
    if (group.number == number && !group.is_root) kept = std::move(group.hashes);
  }));
  return kept;
}

Stored<std::string> LogTiles::read_leaves(const TilePath& tile) {
  std::vector<Digest> all;
  const Position first = tile.number * tile_width + 1;
  if (tile.number == roots_.size()) {
    all = last_;
  } else {
    if (log_.horizon().position >= first) all = TRY(kept_leaves(tile.number));
    const Position from = first + all.size();
    const Position to = first + tile_width - 1;
    if (from <= to) {
      TRY(log_.scan_frames(from, to, [this, &all](const Frame& frame) {
        all.push_back(leaf_hash(frame, sha256_));
        return true;
      }));
    }
  }
  if (all.size() < tile.width) return no_such_tile(tile);
  std::string bytes;
  for (std::size_t at = 0; at < tile.width; ++at) append_hash(bytes, all[at]);
  return bytes;
}

std::string LogTiles::hashes_above(const TilePath& tile) {
  std::string bytes;
  const std::uint64_t groups = std::uint64_t{1} << (tile_bits * (*tile.level - 1));
  for (std::uint64_t at = 0; at < tile.width; ++at) {
    const std::uint64_t begin = (tile.number * tile_width + at) * groups;
    MerkleFrontier part;
    for (std::uint64_t group = begin; group < begin + groups; ++group) {
      append_leaf(part, roots_[group], sha256_);
    }
    append_hash(bytes, merkle_root(part, sha256_));
  }
  return bytes;
}

}  // namespace signalbox
