#include "store/anchor.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "store/directory_lock.h"
#include "store/sha256.h"
#include "tests/store/temporary_directory.h"

namespace signalbox::test {
namespace {

std::string contents(const std::filesystem::path& file) {
  std::ostringstream bytes;
  bytes << std::ifstream(file).rdbuf();
  return bytes.str();
}

void overwrite(const std::filesystem::path& file, const std::string& bytes) {
  std::ofstream(file) << bytes;
}

const Anchor anchor_of_five{5, sha256("five")};

TEST(Anchor, IsNotThereAtFirst) {
  const TemporaryDirectory directory;
  const auto anchor = read_anchor(directory / "anchor");
  ASSERT_TRUE(anchor);
  EXPECT_FALSE(anchor->has_value());
}

TEST(Anchor, IsReadAsItWasWrittenLast) {
  const TemporaryDirectory directory;
  ASSERT_TRUE(write_anchor(directory / "anchor", {}));
  EXPECT_EQ(**read_anchor(directory / "anchor"), Anchor{});
  ASSERT_TRUE(write_anchor(directory / "anchor", anchor_of_five));
  EXPECT_EQ(**read_anchor(directory / "anchor"), anchor_of_five);
  EXPECT_FALSE(std::filesystem::exists(directory / "anchor.tmp"));
}

TEST(Anchor, IsTextForPeople) {
  const TemporaryDirectory directory;
  ASSERT_TRUE(write_anchor(directory / "anchor", anchor_of_five));
  EXPECT_TRUE(contents(directory / "anchor")
                  .starts_with("signalbox anchor 1\nposition 5\nroot " +
                               to_hex(anchor_of_five.root) + "\ncrc32c "));
}

TEST(Anchor, ShowsEveryFlippedBitAndEveryCut) {
  const TemporaryDirectory directory;
  ASSERT_TRUE(write_anchor(directory / "anchor", anchor_of_five));
  const std::string bytes = contents(directory / "anchor");
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = bytes;
      changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
      overwrite(directory / "anchor", changed);
      const auto anchor = read_anchor(directory / "anchor");
      ASSERT_FALSE(anchor) << "byte " << i << " bit " << bit;
      EXPECT_EQ(anchor.error().kind, StoreError::Kind::damaged);
      EXPECT_EQ(anchor.error().file, (directory / "anchor").string());
    }
    overwrite(directory / "anchor", bytes.substr(0, i));
    EXPECT_FALSE(read_anchor(directory / "anchor")) << i;
  }
  overwrite(directory / "anchor", bytes + "\n");
  EXPECT_FALSE(read_anchor(directory / "anchor"));
  overwrite(directory / "anchor", std::string(100'000, 'x'));
  EXPECT_FALSE(read_anchor(directory / "anchor"));
}

TEST(Anchor, StaysWhenTheNewOneCannotBeWritten) {
  const TemporaryDirectory directory;
  ASSERT_TRUE(write_anchor(directory / "anchor", anchor_of_five));
  std::filesystem::create_directory(directory / "anchor.tmp");  // in the way
  EXPECT_FALSE(write_anchor(directory / "anchor", {6, sha256("six")}));
  EXPECT_EQ(**read_anchor(directory / "anchor"), anchor_of_five);
}

TEST(DirectoryLock, IsHeldByOneAtATime) {
  const TemporaryDirectory directory;
  {
    const auto first = DirectoryLock::take(directory / "server.lock");
    ASSERT_TRUE(first);
    const auto second = DirectoryLock::take(directory / "server.lock");
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().kind, StoreError::Kind::in_use);
    EXPECT_NE(second.error().message.find("process " + std::to_string(::getpid())),
              std::string::npos)
        << second.error().message;
  }
  EXPECT_TRUE(DirectoryLock::take(directory / "server.lock"));
}

}  // namespace
}  // namespace signalbox::test
