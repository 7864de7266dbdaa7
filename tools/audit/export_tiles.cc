// Writes an export as a tiled log (c2sp.org/tlog-tiles): tiles of hashes and bundles of entries.
//
// An entry is the input of a leaf's hash: the record's header and the salted digest of its payload.
// So the tiles prove every record and disclose no payload.
#include <array>
#include <optional>

#include "domain/check.h"
#include "domain/try.h"
#include "store/durable_file.h"
#include "store/merkle_tree.h"
#include "store/tile_path.h"
#include "tools/audit/audit_export.h"
#include "tools/audit/audit_findings.h"
#include "tools/audit/bundle_entries.h"
#include "tools/audit/export_directory.h"
#include "tools/audit/leaf_scan.h"

namespace signalbox {
namespace {

// Renders an entry of a bundle: two bytes of length, big endian, and the entry.
RenderLeaf tile_entry_renderer() {
  return [sha256 = std::make_shared<Sha256>()](const Frame& frame, const Digest&,
                                               LeafChunk& chunk) -> Stored<void> {
    const std::size_t bytes = frame.header.size() + sizeof(Digest);
    SIGNALBOX_CHECK(bytes <= 0xffff);
    chunk.text.push_back(static_cast<char>(bytes >> 8));
    chunk.text.push_back(static_cast<char>(bytes));
    chunk.text.append(frame.header);
    chunk.text.append(raw_bytes(payload_digest(frame, *sha256)));
    return {};
  };
}

class TileWriter {
 public:
  // Tiles with only the first `pruned` leaves aren't written, nor tiles that an export of the first
  // `present` leaves already has. `begun` has the entries of its last bundle, if the log has
  // dropped records of them.
  TileWriter(std::filesystem::path directory, std::uint64_t pruned, std::uint64_t present,
             std::optional<std::string> begun)
      : directory_(std::move(directory)),
        pruned_(pruned),
        present_(present),
        begun_(std::move(begun)),
        entries_begun_(begun_ ? std::string_view(*begun_) : std::string_view()) {}

  // `entry` is empty if it isn't known. What was begun has it, or it is in a bundle that is there.
  Called<void> add(const Digest& leaf, std::string_view entry) {
    const bool is_begun = leaves_ >= present_ / tile_width * tile_width && leaves_ < present_;
    if (is_begun && begun_) {
      TRY(take_begun(leaf));
    } else {
      entries_.append(entry);
    }
    ++leaves_;
    if (leaves_ % tile_width == 0) {
      TRY(write_entries(tile_width));
    }
    return add_hash(0, leaf);
  }

  // Adds the leaves of dropped records. Their entries are gone, but no tile that is still to be
  // written needs them.
  Called<void> add_group(const LeafGroup& group) {
    Called<void> added;
    if (group.is_root) {
      leaves_ += tile_width;
      ++levels_[0].number;
      return add_hash(1, group.hashes.front());
    }
    for (const Digest& leaf : group.hashes) {
      if (added) added = add(leaf, {});
    }
    return added;
  }

  // Writes the partial tiles.
  Called<void> end() {
    if (const std::uint64_t rest = leaves_ % tile_width; rest != 0) {
      TRY(write_entries(rest));
    }
    for (unsigned level = 0; level < levels_.size(); ++level) {
      const Level& each = levels_[level];
      if (each.leaves == 0) continue;
      TRY(write_hashes(level, each.leaves));
    }
    return {};
  }

 private:
  struct Level {
    std::string hashes;        // of the tile that is being filled
    std::uint64_t leaves = 0;  // hashes in it
    std::uint64_t number = 0;
    MerkleFrontier tree;
  };

  // Adds the next entry that was begun: nothing but the leaf says whether it is still as it was.
  Called<void> take_begun(const Digest& leaf) {
    const auto entry = entries_begun_.next();
    if (!entry || sha256_.update(std::string_view("\0", 1)).update(*entry).finish() != leaf) {
      const TilePath tile{std::nullopt, present_ / tile_width, present_ % tile_width};
      return tl::unexpected(tampered(tile_path(tile), leaves_ + 1,
                                     "its entry isn't the record's, and the log has dropped that"));
    }
    entries_.append(entry->data() - entry_length_bytes, entry_length_bytes + entry->size());
    return {};
  }

  Called<void> add_hash(unsigned level, const Digest& hash) {
    Level& each = levels_[level];
    each.hashes.append(raw_bytes(hash));
    append_leaf(each.tree, hash, sha256_);
    if (++each.leaves < tile_width) return {};
    TRY(write_hashes(level, tile_width));
    const Digest root = merkle_root(each.tree, sha256_);
    each.hashes.clear();
    each.tree = {};
    each.leaves = 0;
    ++each.number;
    return add_hash(level + 1, root);
  }

  Called<void> write_hashes(unsigned level, std::uint64_t width) {
    return write({level, levels_[level].number, width}, levels_[level].hashes);
  }

  Called<void> write_entries(std::uint64_t width) {
    auto put = write({std::nullopt, (leaves_ - 1) / tile_width, width}, entries_);
    entries_.clear();
    return put;
  }

  Called<void> write(const TilePath& tile, std::string_view bytes) {
    const unsigned shift = tile_bits * tile.level.value_or(0);
    if (((tile.number + 1) * tile_width) << shift <= pruned_) return {};
    if ((tile.number * tile_width + tile.width) << shift <= present_) return {};
    const std::filesystem::path path = directory_ / tile_path(tile);
    std::error_code failed;
    std::filesystem::create_directories(path.parent_path(), failed);
    auto file = TRY(ExportFile::create(path));
    return file.write(bytes);
  }

  std::filesystem::path directory_;
  std::uint64_t pruned_;
  std::uint64_t present_;
  std::optional<std::string> begun_;
  BundleEntries entries_begun_;
  std::uint64_t leaves_ = 0;
  std::string entries_;
  std::array<Level, tile_levels_max + 1> levels_;
  Sha256 sha256_;
};

}  // namespace

Called<void> export_tiles(const AuditLog& log, const std::filesystem::path& directory,
                          ExportManifest& manifest, Position write_from,
                          const std::optional<ExportManifest>& present) {
  const Position written = present ? present->to : 0;
  std::optional<std::string> begun;
  // A bundle that is continued is written again from its first entry.
  Position render_from = (write_from - 1) / tile_width * tile_width + 1;
  const std::uint64_t width = written % tile_width;
  if (width != 0 && log.log->horizon().position >= render_from) {
    render_from = write_from;
    const auto bundle = directory / tile_path({std::nullopt, written / tile_width, width});
    begun = TRY(called(read_file(bundle, largest_bundle_bytes)));
  }
  TileWriter writer(directory, manifest.from - 1, written, std::move(begun));
  if (present) manifest.before = present->before;  // its first records may have been dropped
  Sha256 sha256;
  LeafScan scan;
  scan.to = manifest.to;
  scan.render_from = render_from;
  scan.make_renderer = tile_entry_renderer;
  scan.cut_at = {manifest.from - 1, write_from - 1};
  static_assert(leaf_group_leaves == tile_width);
  Called<void> grouped;
  scan.take_group = [&](const LeafGroup& group) {
    if (grouped) grouped = writer.add_group(group);
  };
  scan.take = [&](LeafChunk& chunk, const MerkleFrontier& tree) -> Called<void> {
    if (!grouped) return grouped;
    if (tree.leaves == manifest.from - 1) manifest.before = tree;
    if (tree.leaves == manifest.to) manifest.root = merkle_root(tree, sha256);
    if (present && tree.leaves == present->to && merkle_root(tree, sha256) != present->root) {
      return tl::unexpected(other_log(directory, *present));
    }
    std::size_t begin = 0;
    for (std::size_t index = 0; index < chunk.leaves.size(); ++index) {
      const std::size_t end = chunk.text_ends[index];
      const std::string_view entry = std::string_view(chunk.text).substr(begin, end - begin);
      begin = end;
      TRY(writer.add(chunk.leaves[index], entry));
    }
    return {};
  };
  TRY(scan_leaves(log, scan));
  return writer.end();
}

}  // namespace signalbox
