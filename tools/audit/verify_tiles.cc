// Verifies a tiled log: every entry is hashed to the leaf in its tile, every tile to its hash in
// the tile above, and all leaves to the signed root.
#include <algorithm>
#include <array>
#include <map>

#include "store/durable_file.h"
#include "store/frame.h"
#include "store/merkle_tree.h"
#include "store/tile_path.h"
#include "tools/audit/audit_verify.h"
#include "tools/audit/bundle_entries.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

class TileVerification {
 public:
  TileVerification(const fs::path& directory, const ExportManifest& manifest, TreeCheck& tree,
                   AuditFindings& findings)
      : directory_(directory), manifest_(manifest), tree_(tree), findings_(findings) {}

  void run() {
    if ((manifest_.from - 1) % tile_width != 0) {
      return findings_.add({"manifest", 0, 0, "a tiled export can't begin within a tile"});
    }
    if (!begin_levels()) return;
    for (std::uint64_t number = (manifest_.from - 1) / tile_width;
         number * tile_width < manifest_.to; ++number) {
      verify_bundle(number, std::min(tile_width, manifest_.to - number * tile_width));
    }
    for (unsigned level = 1; level < levels_.size(); ++level) {
      if (!levels_[level].hashes.empty()) compare_hashes(level);
    }
    verify_others();
  }

 private:
  struct Level {
    std::uint64_t number = 0;
    std::string hashes;  // of the tile that is being filled
    MerkleFrontier tree;
  };

  std::optional<std::string> read_tile(const TilePath& tile, Position position) {
    auto bytes = read_file(directory_ / tile_path(tile), largest_bundle_bytes);
    if (bytes) return *std::move(bytes);
    findings_.add({tile_path(tile), 0, position,
                   bytes.error().kind == StoreError::Kind::not_found ? "it is missing"
                                                                     : bytes.error().message});
    return std::nullopt;
  }

  // Initializes the upper levels with the hashes of the leaves before the export, from its tiles,
  // and compares them with the tree that the manifest begins with.
  bool begin_levels() {
    const std::uint64_t pruned = manifest_.from - 1;
    std::vector<Digest> subtrees;
    for (unsigned level = tile_levels_max; level-- > 1;) {
      const std::uint64_t count = pruned >> (tile_bits * level);
      Level& each = levels_[level];
      each.number = count / tile_width;
      const std::uint64_t before = count % tile_width;
      if (before == 0) continue;
      const std::uint64_t in_all = manifest_.to >> (tile_bits * level);
      const TilePath tile{level, each.number,
                          std::min(tile_width, in_all - each.number * tile_width)};
      const auto bytes = read_tile(tile, 0);
      if (!bytes || bytes->size() < before * sizeof(Digest)) return false;
      each.hashes = bytes->substr(0, before * sizeof(Digest));
      for (std::uint64_t index = 0; index < before; ++index) {
        Digest hash;
        std::copy_n(each.hashes.begin() + static_cast<std::ptrdiff_t>(index * sizeof(Digest)),
                    sizeof(Digest), hash.bytes.begin());
        append_leaf(each.tree, hash, sha256_);
      }
      subtrees.insert(subtrees.end(), each.tree.subtrees.begin(), each.tree.subtrees.end());
      before_[level] = tile;
    }
    if (subtrees == manifest_.before.subtrees) return true;
    findings_.add(
        {tile_path(before_.empty() ? TilePath{1, 0, tile_width} : before_.begin()->second), 0,
         manifest_.from,
         "what it has of the records before the export isn't what the manifest signs"});
    return false;
  }

  void verify_bundle(std::uint64_t number, std::uint64_t width) {
    const TilePath entries_tile{std::nullopt, number, width};
    const TilePath hashes_tile{0, number, width};
    const Position first = number * tile_width + 1;
    const auto bundle = read_tile(entries_tile, first);
    const auto hashes = read_tile(hashes_tile, first);
    if (hashes && hashes->size() != width * sizeof(Digest)) {
      findings_.add({tile_path(hashes_tile), 0, first, "it isn't as long as its name says"});
    }
    BundleEntries entries(bundle ? std::string_view(*bundle) : std::string_view());
    MerkleFrontier tree;
    for (std::uint64_t index = 0; index < width; ++index) {
      const auto entry = entries.next();
      if (!entry) {
        if (bundle) {
          findings_.add({tile_path(entries_tile), 0, first + index, "it is cut short"});
        }
        return;
      }
      const Digest leaf = sha256_.update(std::string_view("\0", 1)).update(*entry).finish();
      check_entry(entries_tile, hashes_tile, *entry, leaf, first + index, hashes);
      tree_.add(leaf);
      append_leaf(tree, leaf, sha256_);
    }
    if (!entries.left().empty()) {
      findings_.add({tile_path(entries_tile), 0, first, "it goes on past its last entry"});
    }
    if (width == tile_width) add_hash(1, merkle_root(tree, sha256_));
  }

  void check_entry(const TilePath& entries_tile, const TilePath& hashes_tile,
                   std::string_view entry, const Digest& leaf, Position position,
                   const std::optional<std::string>& hashes) {
    const std::size_t at = (position - 1) % tile_width * sizeof(Digest);
    if (hashes && hashes->size() >= at + sizeof(Digest) &&
        std::string_view(*hashes).substr(at, sizeof(Digest)) != raw_bytes(leaf)) {
      findings_.add({tile_path(entries_tile), 0, position,
                     "its entry isn't the one whose hash is in " + tile_path(hashes_tile)});
      return;
    }
    // The entry is parsed as a frame with the payload's digest as its payload, which isn't decoded.
    frame_.clear();
    if (entry.size() > sizeof(Digest)) {
      append_frame(entry.substr(0, entry.size() - sizeof(Digest)),
                   entry.substr(entry.size() - sizeof(Digest)), frame_);
    }
    const auto frame = parse_frame(frame_);
    if (frame ? frame->position != position : frame.error().kind != StoreError::Kind::unsupported) {
      findings_.add(
          {tile_path(entries_tile), 0, position,
           frame ? "it has record " + std::to_string(frame->position) + ", not the one that follows"
                 : "its entry isn't a record's"});
    }
  }

  void add_hash(unsigned level, const Digest& hash) {
    Level& each = levels_[level];
    each.hashes.append(raw_bytes(hash));
    append_leaf(each.tree, hash, sha256_);
    if (each.hashes.size() < tile_width * sizeof(Digest)) return;
    compare_hashes(level);
    const Digest root = merkle_root(each.tree, sha256_);
    each.hashes.clear();
    each.tree = {};
    ++each.number;
    add_hash(level + 1, root);
  }

  void compare_hashes(unsigned level) {
    const Level& each = levels_[level];
    const TilePath tile{level, each.number, each.hashes.size() / sizeof(Digest)};
    const auto bytes = read_tile(tile, 0);
    if (bytes && *bytes != each.hashes) {
      findings_.add({tile_path(tile), 0, 0, "its hashes aren't those of the tiles below"});
    }
  }

  // Checks the files that the tree doesn't need. Only partial tiles of earlier checkpoints are
  // allowed, and each must be a prefix of the tile that replaced it.
  void verify_others() {
    std::error_code failed;
    if (fs::exists(directory_ / incomplete_name, failed)) return;  // any files are allowed then
    for (const auto& file : fs::recursive_directory_iterator(directory_ / "tile", failed)) {
      if (file.is_directory()) continue;
      const std::string name = file.path().lexically_relative(directory_).string();
      const auto tile = parse_tile_path(name);
      const std::uint64_t in_all =
          manifest_.to >> (tile_bits * (tile ? tile->level.value_or(0) : 0));
      if (!tile || tile->number * tile_width + tile->width > in_all) {
        findings_.add({name, 0, 0, "it isn't part of the export"});
        continue;
      }
      TilePath whole = *tile;
      whole.width = std::min(tile_width, in_all - tile->number * tile_width);
      if (whole == *tile && !pruned(*tile)) continue;
      const auto bytes = read_file(file.path(), largest_bundle_bytes);
      const auto longer = read_file(directory_ / tile_path(whole), largest_bundle_bytes);
      if (!bytes || !longer || pruned(whole) || *bytes != beginning_of(*longer, *tile)) {
        findings_.add({name, 0, 0, "it isn't the beginning of " + tile_path(whole)});
      }
    }
  }

  // Returns whether all leaves of the tile are before the export.
  [[nodiscard]] bool pruned(const TilePath& tile) const {
    return ((tile.number + 1) * tile_width) << (tile_bits * tile.level.value_or(0)) <
           manifest_.from;
  }

  static std::string_view beginning_of(std::string_view bytes, const TilePath& tile) {
    if (tile.level) return bytes.substr(0, tile.width * sizeof(Digest));
    BundleEntries entries(bytes);
    for (std::uint64_t count = 0; count < tile.width; ++count) entries.next();
    return bytes.substr(0, bytes.size() - entries.left().size());
  }

  const fs::path& directory_;
  const ExportManifest& manifest_;
  TreeCheck& tree_;
  AuditFindings& findings_;
  Sha256 sha256_;
  std::string frame_;
  std::array<Level, tile_levels_max + 1> levels_;
  std::map<unsigned, TilePath> before_;
};

}  // namespace

void verify_tiles(const fs::path& directory, const ExportManifest& manifest, TreeCheck& tree,
                  AuditFindings& findings) {
  TileVerification(directory, manifest, tree, findings).run();
}

}  // namespace signalbox
