// The removal of directories that jobs wrote into.
#include "server/platform/owned_tree.h"

#include <gtest/gtest.h>

#include "tests/fixtures/file_content.h"
#include "tests/fixtures/temporary_directory.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

class OwnedTreeTest : public testing::Test {
 protected:
  [[nodiscard]] Stored<TreeSize> remove(const std::string& name) const {
    return remove_owned_tree(scratch_.path(), name, stopped_);
  }
  TemporaryDirectory scratch_;
  std::atomic<bool> stopped_ = false;
};

TEST_F(OwnedTreeTest, GoesHoweverDeepItIs) {  // A15
  fs::path directory = scratch_.path() / "job";
  for (int depth = 0; depth < 300; ++depth) directory /= "d";
  fs::create_directories(directory);
  write_text(directory / "file", "x");
  const auto removed = remove("job");
  ASSERT_TRUE(removed) << removed.error().message;
  EXPECT_GE(removed->entries, 300U);
  EXPECT_FALSE(is_owned_tree_there(scratch_.path(), "job"));
}

TEST_F(OwnedTreeTest, LinksAreRemovedAndNotFollowed) {  // A15
  fs::create_directories(scratch_.path() / "outside");
  write_text(scratch_.path() / "outside" / "file", "mine");
  fs::create_directories(scratch_.path() / "job");
  fs::create_directory_symlink(scratch_.path() / "outside", scratch_.path() / "job" / "link");
  ASSERT_TRUE(remove("job"));
  fs::create_directory_symlink(scratch_.path() / "outside", scratch_.path() / "job");
  const auto refused = remove("job");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("is a symbolic link"), std::string::npos);
  EXPECT_TRUE(fs::exists(scratch_.path() / "outside" / "file"));
}

TEST_F(OwnedTreeTest, WhatWasLeftHalfwayGoesWithTheNextCall) {  // A15
  fs::create_directories(scratch_.path() / "job.removing" / "a");
  fs::create_directories(scratch_.path() / "other");
  ASSERT_TRUE(remove("job"));
  EXPECT_FALSE(fs::exists(scratch_.path() / "job.removing"));
  stopped_ = true;
  write_text(scratch_.path() / "other" / "file", "x");
  EXPECT_FALSE(remove("other"));
  EXPECT_TRUE(is_owned_tree_there(scratch_.path(), "other"));
  stopped_ = false;
  ASSERT_TRUE(remove("other"));
  EXPECT_FALSE(is_owned_tree_there(scratch_.path(), "other"));
}

TEST_F(OwnedTreeTest, ReadOnlyDirectoriesGo) {  // A15
  const fs::path inner = scratch_.path() / "job" / "locked" / "inner";
  fs::create_directories(inner);
  write_text(inner / "file", "x");
  fs::permissions(inner, fs::perms::owner_read | fs::perms::owner_exec);
  fs::permissions(inner.parent_path(), fs::perms::none);
  const auto removed = remove("job");
  ASSERT_TRUE(removed) << removed.error().message;
  EXPECT_FALSE(is_owned_tree_there(scratch_.path(), "job"));
}

}  // namespace
}  // namespace signalbox
