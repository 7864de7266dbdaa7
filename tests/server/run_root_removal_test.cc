// The removal of what the service wrote in a run root that a client named: nothing else goes,
// whatever the owner of the root puts in the place of its directories.
#include "server/followers/run_root/run_root_removal.h"

#include <gtest/gtest.h>

#include "tests/fixtures/file_content.h"
#include "tests/fixtures/temporary_directory.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

class RunRootRemovalTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const fs::path& each : {data_, root_ / "prompts", elsewhere_ / "run" / "prompts"}) {
      fs::create_directories(each);
    }
    for (const fs::path& each : {root_, elsewhere_ / "run"}) {
      write_text(each / "manifest.json", "manifest\n");
      write_text(each / "prompts" / "a.md", "prompt\n");
    }
    rule_.resolve(0);
  }
  [[nodiscard]] RunFiles::Rendered rendered() const {
    RunFiles::Rendered files;
    files.root = root_.string();
    files.named_root = true;
    const auto add = [&](const char* path, const char* bytes) {
      files.changes.push_back({files.root, path, FileChange::Kind::write, bytes, 1});
    };
    add("prompts/a.md", "prompt\n");
    add("manifest.json", "manifest\n");
    return files;
  }
  [[nodiscard]] RemovedRunFiles remove(bool is_dry = false) const {
    return remove_run_files(rendered(), data_, &rule_, is_dry);
  }
  void expect_untouched_elsewhere() const {
    EXPECT_EQ(content_of(elsewhere_ / "run" / "manifest.json"), "manifest\n");
    EXPECT_EQ(content_of(elsewhere_ / "run" / "prompts" / "a.md"), "prompt\n");
  }

  const TemporaryDirectory scratch_;
  const fs::path data_ = scratch_.path() / "data";
  const fs::path allowed_ = scratch_.path() / "allowed";
  const fs::path elsewhere_ = scratch_.path() / "elsewhere";
  const fs::path root_ = allowed_ / "somebody" / "run";
  RunRootRule rule_{data_, {allowed_}};
};

TEST_F(RunRootRemovalTest, WhatWasWrittenGoesAndTheRootStays) {  // A15
  write_text(root_ / "mine.txt", "mine\n");
  const RemovedRunFiles planned = remove(/*is_dry=*/true);
  EXPECT_EQ(planned.bytes, 16U);
  EXPECT_TRUE(fs::exists(root_ / "manifest.json"));
  const RemovedRunFiles removed = remove();
  EXPECT_EQ(removed.bytes, planned.bytes);
  EXPECT_EQ(removed.error, "");
  EXPECT_FALSE(fs::exists(root_ / "manifest.json"));
  EXPECT_FALSE(fs::exists(root_ / "prompts"));
  EXPECT_TRUE(fs::exists(root_ / "mine.txt"));
  EXPECT_EQ(remove().bytes, 0U);
}

TEST_F(RunRootRemovalTest, AChangedFileIsNamedAndStays) {  // A15
  write_text(root_ / "manifest.json", "Manifest\n");
  fs::remove(root_ / "prompts" / "a.md");
  fs::create_symlink(elsewhere_ / "run" / "prompts" / "a.md", root_ / "prompts" / "a.md");
  const std::vector<std::string> changed{(root_ / "prompts" / "a.md").string(),
                                         (root_ / "manifest.json").string()};
  EXPECT_EQ(remove().changed, changed);
  EXPECT_EQ(content_of(root_ / "manifest.json"), "Manifest\n");
  expect_untouched_elsewhere();
}

// Whoever may write below a directory of run_roots puts a link there after the run ended.
TEST_F(RunRootRemovalTest, ALinkBelowAConfiguredDirectoryIsntFollowed) {  // A15
  fs::rename(allowed_ / "somebody", allowed_ / "before");
  fs::create_directory_symlink(elsewhere_, allowed_ / "somebody");
  for (const bool is_dry : {true, false}) {
    const RemovedRunFiles removed = remove(is_dry);
    EXPECT_EQ(removed.bytes, 0U);
    EXPECT_NE(removed.error.find("is a symbolic link"), std::string::npos) << removed.error;
  }
  expect_untouched_elsewhere();
}

TEST_F(RunRootRemovalTest, ALinkInTheRootIsntFollowed) {  // A15
  fs::remove_all(root_ / "prompts");
  fs::create_directory_symlink(elsewhere_ / "run" / "prompts", root_ / "prompts");
  const RemovedRunFiles removed = remove();
  EXPECT_NE(removed.error.find("is a symbolic link"), std::string::npos) << removed.error;
  EXPECT_FALSE(fs::exists(root_ / "manifest.json"));
  expect_untouched_elsewhere();
}

TEST_F(RunRootRemovalTest, ARootThatLeadsIntoTheDataDirectoryByNowIsLeftAlone) {  // A15
  const RunRootRule none(data_, {});
  fs::rename(root_, data_ / "log");
  fs::create_directory_symlink(data_ / "log", root_);
  const RemovedRunFiles removed = remove_run_files(rendered(), data_, &none, /*is_dry=*/false);
  EXPECT_NE(removed.error.find("is inside the data directory"), std::string::npos) << removed.error;
  EXPECT_TRUE(fs::exists(data_ / "log" / "manifest.json"));
}

}  // namespace
}  // namespace signalbox
