// Reading whole files that others may have written.
#include "store/durable_file.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "tests/fixtures/temporary_directory.h"

namespace signalbox::test {
namespace {

class ReadFileTest : public testing::Test {
 protected:
  [[nodiscard]] std::filesystem::path file() const { return directory_.path() / "file"; }

  TemporaryDirectory directory_;
};

TEST_F(ReadFileTest, OneUpToTheBoundIsRead) {
  std::ofstream(file()) << "1234";
  EXPECT_EQ(read_file(file(), 4).value_or("not read"), "1234");
  EXPECT_FALSE(read_file(file(), 3));
}

// A sparse file may say that it has more bytes than any memory.
TEST_F(ReadFileTest, OneThatSaysItIsHugeIsRefused) {  // G1
  std::ofstream(file()) << "1234";
  constexpr std::uintmax_t huge = std::uintmax_t{1} << 40;
  std::filesystem::resize_file(file(), huge);
  const auto read = read_file(file(), 1000);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().kind, StoreError::Kind::damaged);
}

}  // namespace
}  // namespace signalbox::test
