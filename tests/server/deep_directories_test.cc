// Directories that jobs made hundreds of levels deep, in a process that may open few files. What
// the service does with directories has few of them open, however deep they are.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <utility>

#include "server/git/hook_copy.h"
#include "server/git/tree_removal.h"
#include "server/platform/owned_tree.h"
#include "server/platform/private_directory.h"
#include "store/file_descriptor.h"
#include "tests/fixtures/file_content.h"
#include "tests/fixtures/temporary_directory.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

// Deeper than any limit of descriptors here, and by a path that is too long for a system call.
constexpr int levels_made = 300;
constexpr const char* level_name = "a-directory-of-a-job";
constexpr rlim_t descriptors_max = 128;

class DeepDirectories : public testing::Test {
 protected:
  // Makes the directory, with `levels_made` directories in one another below it.
  static void make_deep(const fs::path& directory) {
    fs::create_directories(directory);
    FileDescriptor inside(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    for (int level = 0; level < levels_made; ++level) {
      ASSERT_EQ(::mkdirat(inside.get(), level_name, 0755), 0);
      FileDescriptor below(::openat(inside.get(), level_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      inside = std::move(below);
      ASSERT_TRUE(inside);
    }
  }
  // Expects this of a process that may have `descriptors_max` files open.
  static void expect_with_few_descriptors(const std::function<bool()>& is_right) {
    const pid_t child = ::fork();
    if (child == 0) {
      const rlimit limit{descriptors_max, descriptors_max};
      ::_exit(::setrlimit(RLIMIT_NOFILE, &limit) == 0 && is_right() ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  TemporaryDirectory scratch_;
  const fs::path tree_ = scratch_.path() / "tree";
};

TEST_F(DeepDirectories, ATreeIsRemoved) {  // P8
  make_deep(tree_);
  write_text(tree_ / level_name / "file", "x");
  expect_with_few_descriptors([this] { return remove_tree(tree_).has_value(); });
  EXPECT_FALSE(fs::exists(tree_));
}

TEST_F(DeepDirectories, AJobsDirectoryIsMeasuredAndRemoved) {  // P8
  make_deep(tree_);
  expect_with_few_descriptors([this] {
    const std::atomic<bool> stopped = false;
    const auto size = measure_owned_tree(scratch_.path(), "tree", stopped);
    return size && size->entries > 1 && remove_owned_tree(scratch_.path(), "tree", stopped);
  });
  EXPECT_FALSE(fs::exists(tree_));
}

TEST_F(DeepDirectories, AStartClosesADataDirectoryThatHasThem) {  // P8
  const fs::path file = scratch_.path() / "workspaces" / "run" / "file";
  make_deep(scratch_.path() / "workspaces" / "run");
  write_text(file, "x");
  fs::permissions(file, fs::perms::others_read, fs::perm_options::add);
  expect_with_few_descriptors([this] { return make_private(scratch_.path()).error.empty(); });
  EXPECT_EQ(fs::status(file).permissions() & fs::perms::others_all, fs::perms::none);
}

TEST_F(DeepDirectories, HooksAreNotAsDeep) {  // P8
  make_deep(tree_);
  const fs::path copy = scratch_.path() / "copy";
  fs::create_directory(copy);
  expect_with_few_descriptors([&] {
    const auto copied = copy_hooks(tree_, copy);
    return !copied && copied.error().ends_with("or more than 16 levels of directories");
  });
  EXPECT_TRUE(has_other_hooks(tree_, copy));
}

// A path that isn't a directory goes as well, and the trees that links lead to stay.
TEST_F(DeepDirectories, WhatElseIsThereGoesByItself) {  // H6
  fs::create_directory(tree_);
  write_text(tree_ / "file", "x");
  fs::create_directory_symlink(tree_, scratch_.path() / "link");
  EXPECT_TRUE(remove_tree(scratch_.path() / "link"));
  EXPECT_TRUE(fs::exists(tree_ / "file"));
  EXPECT_TRUE(remove_tree(tree_ / "file"));
  EXPECT_FALSE(fs::exists(tree_ / "file"));
  EXPECT_TRUE(remove_tree(scratch_.path() / "nothing" / "here"));
  EXPECT_TRUE(remove_tree(tree_ / ""));
  EXPECT_FALSE(fs::exists(tree_));
}

}  // namespace
}  // namespace signalbox
