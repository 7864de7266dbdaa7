// A directory whose reading fails after it was opened, as on a failing disk. This file replaces
// libc's readdir() in its program, and lets it fail where a test says so.
#include "store/directory_listing.h"

#include <dirent.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <fstream>

#include "tests/fixtures/temporary_directory.h"

namespace signalbox {
namespace {

thread_local int readable_entries = -1;  // until readdir() fails; -1: it doesn't

class DirectoryListing : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"one", "two", "three"}) std::ofstream(directory_.path() / name);
  }
  void TearDown() override { readable_entries = -1; }

  TemporaryDirectory directory_;
};

TEST_F(DirectoryListing, HasAllEntries) {
  std::error_code error;
  EXPECT_EQ(list_directory(directory_.path(), error).size(), 3U);
  EXPECT_FALSE(error);
}

TEST_F(DirectoryListing, OfADirectoryThatIsntThereIsAnError) {
  std::error_code error;
  EXPECT_TRUE(list_directory(directory_.path() / "none", error).empty());
  EXPECT_EQ(error, std::errc::no_such_file_or_directory);
}

TEST_F(DirectoryListing, ThatFailsHalfwayIsAnErrorAndThrowsNothing) {  // G1
  readable_entries = 2;
  std::error_code error;
  EXPECT_LT(list_directory(directory_.path(), error).size(), 3U);
  EXPECT_EQ(error, std::errc::io_error);
}

}  // namespace
}  // namespace signalbox

// libstdc++ calls it for each step of a directory_iterator.
extern "C" dirent* readdir(DIR* directory) {
  static auto* const real = reinterpret_cast<dirent* (*)(DIR*)>(::dlsym(RTLD_NEXT, "readdir"));
  int& left = signalbox::readable_entries;
  if (left == 0) {
    errno = EIO;
    return nullptr;
  }
  if (left > 0) --left;
  return real(directory);
}
