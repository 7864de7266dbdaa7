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

// Somebody puts something there between the look and the removal.
TEST_F(OwnedTreeTest, WhatIsNeededAfterAllGetsItsNameBack) {  // A15
  const fs::path job = scratch_.path() / "job";
  const ReasonToKeepTree needs_nothing_precious = [](const fs::path& directory) {
    return fs::exists(directory / "precious") ? "it holds precious" : "";
  };
  const auto remove_checked = [&] {
    return remove_owned_tree(scratch_.path(), "job", stopped_, needs_nothing_precious);
  };
  fs::create_directories(job);
  write_text(job / "precious", "x");
  const auto kept = remove_checked();
  ASSERT_FALSE(kept);
  EXPECT_EQ(kept.error().message, "it holds precious");
  EXPECT_EQ(content_of(job / "precious"), "x");
  // So does what a kill left before the question, also if it was filled again meanwhile.
  fs::rename(job, job.string() + removing_suffix);
  EXPECT_FALSE(remove_checked());
  EXPECT_TRUE(fs::exists(job / "precious"));
  fs::rename(job, job.string() + removing_suffix);
  fs::create_directories(job);
  write_text(job / "other", "y");
  EXPECT_FALSE(remove_checked());
  EXPECT_TRUE(fs::exists(job.string() + removing_suffix + "/precious"));
  EXPECT_TRUE(fs::exists(job / "other"));
  fs::remove(job.string() + removing_suffix + "/precious");
  ASSERT_TRUE(remove_checked());
  EXPECT_FALSE(is_owned_tree_there(scratch_.path(), "job"));
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
