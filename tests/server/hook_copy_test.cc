// Tests the copy of a repository's hooks, whose size is bounded whatever lies beside them.
#include "server/git/hook_copy.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "server/limits.h"
#include "tests/fixtures/temporary_directory.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

class HookCopy : public ::testing::Test {
 protected:
  HookCopy() {
    fs::create_directory(from_);
    fs::create_directory(to_);
    std::ofstream(from_ / "pre-push") << "#!/bin/sh\n";
  }

  TemporaryDirectory directory_;
  const fs::path from_ = directory_.path() / "from";
  const fs::path to_ = directory_.path() / "to";
};

TEST_F(HookCopy, AnUnchangedDirectoryHasNoOtherHooks) {  // G12
  EXPECT_TRUE(has_other_hooks(from_, to_));
  EXPECT_TRUE(copy_hooks(from_, to_).has_value());
  EXPECT_FALSE(has_other_hooks(from_, to_));
}

TEST_F(HookCopy, WhatIsNotCopiedIsBoundedAsWell) {  // G12
  ASSERT_TRUE(copy_hooks(from_, to_).has_value());
  for (std::size_t count = 0; count < limits::hook_files_max; ++count) {
    fs::create_directory(from_ / std::to_string(count));
  }
  EXPECT_TRUE(has_other_hooks(from_, to_));
  const auto copied = copy_hooks(from_, to_);
  ASSERT_FALSE(copied.has_value());
  EXPECT_NE(copied.error().find("has more than 1000 files"), std::string::npos) << copied.error();
}

// The file is sparse: it has its size without its bytes.
TEST_F(HookCopy, AFileThatIsTooLongIsNeitherReadNorCopied) {  // G12
  ASSERT_TRUE(copy_hooks(from_, to_).has_value());
  std::ofstream(from_ / "large.sample") << "";
  fs::resize_file(from_ / "large.sample", limits::hooks_bytes_max + 1);
  EXPECT_TRUE(has_other_hooks(from_, to_));
  EXPECT_FALSE(copy_hooks(from_, to_).has_value());
}

}  // namespace
}  // namespace signalbox
