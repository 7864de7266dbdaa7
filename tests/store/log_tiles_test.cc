// The tiles of a log that is open: they give the log's own tree, while it grows and after a drop.
#include "store/log_tiles.h"

#include <gtest/gtest.h>

#include "tests/fixtures/temporary_directory.h"
#include "tests/store/log_directory.h"

namespace signalbox::test {
namespace {

class LogTilesTest : public testing::Test {
 protected:
  // Returns the bytes, or the error's kind as text.
  std::string tile(LogTiles& tiles, const std::string& path) const {
    const auto parsed = parse_tile_path("tile/" + path);
    EXPECT_TRUE(parsed) << path;
    const auto bytes = tiles.read(*parsed);
    if (bytes) return *bytes;
    if (bytes.error().kind == StoreError::Kind::not_found) return "not found";
    return bytes.error().kind == StoreError::Kind::dropped ? "dropped" : bytes.error().message;
  }
  static MerkleFrontier tree_of(LogTiles& tiles) {
    const auto tree = tiles.tree();
    EXPECT_TRUE(tree && *tree);
    return tree && *tree ? **tree : MerkleFrontier{};
  }
  // Returns the tree over the leaves in a tile of hashes.
  static MerkleFrontier tree_over(const std::string& hashes) {
    MerkleFrontier tree;
    Sha256 sha256;
    for (std::size_t at = 0; at < hashes.size(); at += sizeof(Digest)) {
      Digest leaf;
      std::copy_n(hashes.begin() + static_cast<std::ptrdiff_t>(at), leaf.bytes.size(),
                  leaf.bytes.begin());
      append_leaf(tree, leaf, sha256);
    }
    return tree;
  }

  TemporaryDirectory data_;
};

TEST_F(LogTilesTest, GiveTheTreeOfALogThatGrows) {  // C4
  auto log = open_log(data_.path());
  LogTiles tiles(*log);
  EXPECT_EQ(tree_of(tiles), log->frontier());
  EXPECT_EQ(tile(tiles, "0/000.p/1"), "not found");
  append_commits(*log, 40);  // 120 records
  EXPECT_EQ(tree_of(tiles), log->frontier());
  EXPECT_EQ(tree_over(tile(tiles, "0/000.p/120")), log->frontier());
  EXPECT_EQ(tile(tiles, "0/000.p/121"), "not found");
  EXPECT_EQ(tile(tiles, "0/000"), "not found");
  EXPECT_EQ(tile(tiles, "1/000.p/1"), "not found");
  const std::string begin = tile(tiles, "0/000.p/120");
  append_commits(*log, 160);  // 600 records
  EXPECT_EQ(tree_of(tiles), log->frontier());
  const std::string whole = tile(tiles, "0/000");
  EXPECT_EQ(whole.size(), 256 * sizeof(Digest));
  EXPECT_TRUE(whole.starts_with(begin));
  EXPECT_EQ(tile(tiles, "0/000.p/120"), begin);
  EXPECT_EQ(tile(tiles, "0/002.p/88").size(), 88 * sizeof(Digest));
  EXPECT_EQ(tile(tiles, "0/003.p/1"), "not found");
  EXPECT_EQ(tile(tiles, "0/x999/x999/999"), "not found");
  // A hash of the level above is the root of a whole tile below.
  const std::string above = tile(tiles, "1/000.p/2");
  ASSERT_EQ(above.size(), 2 * sizeof(Digest));
  Sha256 sha256;
  const Digest root = merkle_root(tree_over(whole), sha256);
  EXPECT_EQ(above.substr(0, sizeof(Digest)),
            std::string(reinterpret_cast<const char*>(root.bytes.data()), root.bytes.size()));
  EXPECT_EQ(tile(tiles, "2/000.p/1"), "not found");
}

TEST_F(LogTilesTest, EntriesAreWhatTheLeavesAreTheHashesOf) {  // C4
  auto log = open_log(data_.path());
  append_commits(*log, 4);
  LogTiles tiles(*log);
  ASSERT_EQ(tree_of(tiles).leaves, 12U);
  const std::string entries = tile(tiles, "entries/000.p/12");
  MerkleFrontier tree;
  Sha256 sha256;
  for (std::size_t at = 0; at < entries.size();) {
    const std::size_t bytes = static_cast<unsigned char>(entries[at]) * 256U +
                              static_cast<unsigned char>(entries[at + 1]);
    ASSERT_LE(at + 2 + bytes, entries.size());
    sha256.update(std::string_view("\0", 1));
    sha256.update(std::string_view(entries).substr(at + 2, bytes));
    append_leaf(tree, sha256.finish(), sha256);
    at += 2 + bytes;
  }
  EXPECT_EQ(tree, log->frontier());
}

TEST(TilePathTest, ALevelHasABound) {  // P8
  const auto parsed = [](unsigned level) {
    return parse_tile_path("tile/" + std::to_string(level) + "/000");
  };
  ASSERT_TRUE(parsed(tile_levels_max));
  EXPECT_EQ(parsed(tile_levels_max)->level, tile_levels_max);
  EXPECT_FALSE(parsed(tile_levels_max + 1));
}

TEST_F(LogTilesTest, WhatWasDroppedIsSaidAndTheTreeStays) {  // C4
  auto log = open_log(data_.path());
  append_commits(*log, 150);
  const MerkleFrontier dropped_tree = log->frontier();
  append_commits(*log, 50);
  LogTiles before(*log);
  ASSERT_EQ(tree_of(before).leaves, 600U);
  const std::string first = tile(before, "0/000");
  const std::string second = tile(before, "0/001");
  const std::string above = tile(before, "1/000.p/2");
  const PreparedDrop drop = prepare_drop(*log, dropped_tree, {}, "base");
  ASSERT_TRUE(log->drop(log->tail(), drop.commit, drop.drop));
  // As a service that has read the log before, and as one that starts now.
  LogTiles after(*log);
  for (LogTiles* tiles : {&before, &after}) {
    EXPECT_EQ(tree_of(*tiles), log->frontier());
    EXPECT_EQ(tile(*tiles, "0/000"), "dropped");
    EXPECT_EQ(tile(*tiles, "0/001"), second);
    EXPECT_EQ(tile(*tiles, "1/000.p/2"), above);
    EXPECT_EQ(tile(*tiles, "entries/000"), "dropped");
  }
  EXPECT_EQ(first.size(), 256 * sizeof(Digest));
}

}  // namespace
}  // namespace signalbox::test
