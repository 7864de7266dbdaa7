// The anchor file, which is read only as it was written, and the lock of a data directory.
#include "store/anchor.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>
#include <vector>

#include "store/directory_lock.h"
#include "store/sha256.h"
#include "tests/fixtures/file_content.h"
#include "tests/fixtures/temporary_directory.h"

namespace signalbox::test {
namespace {

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
  EXPECT_TRUE(content_of(directory / "anchor")
                  .starts_with("signalbox anchor 1\nposition 5\nroot " +
                               to_hex(anchor_of_five.root) + "\ncrc32c "));
}

TEST(Anchor, ShowsEveryFlippedBitAndEveryCut) {
  const TemporaryDirectory directory;
  ASSERT_TRUE(write_anchor(directory / "anchor", anchor_of_five));
  const std::string bytes = content_of(directory / "anchor");
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = bytes;
      changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
      write_text(directory / "anchor", changed);
      const auto anchor = read_anchor(directory / "anchor");
      ASSERT_FALSE(anchor) << "byte " << i << " bit " << bit;
      EXPECT_EQ(anchor.error().kind, StoreError::Kind::damaged);
      EXPECT_EQ(anchor.error().file, (directory / "anchor").string());
    }
    write_text(directory / "anchor", bytes.substr(0, i));
    EXPECT_FALSE(read_anchor(directory / "anchor")) << i;
  }
  write_text(directory / "anchor", bytes + "\n");
  EXPECT_FALSE(read_anchor(directory / "anchor"));
  write_text(directory / "anchor", std::string(100'000, 'x'));
  EXPECT_FALSE(read_anchor(directory / "anchor"));
}

TEST(Anchor, StaysWhenTheNewOneCannotBeWritten) {
  const TemporaryDirectory directory;
  ASSERT_TRUE(write_anchor(directory / "anchor", anchor_of_five));
  std::filesystem::create_directory(directory / "anchor.tmp");  // in the way
  EXPECT_FALSE(write_anchor(directory / "anchor", {6, sha256("six")}));
  EXPECT_EQ(**read_anchor(directory / "anchor"), anchor_of_five);
}

TEST(DirectoryLock, IsHeldByOneAtATimeAndSaysWhoThatIs) {
  const TemporaryDirectory directory;
  const auto file = directory / "server.lock";
  const std::string process = std::to_string(::getpid());
  for (const char* command : {"signalbox audit redact", "signalbox serve"}) {
    const auto first = DirectoryLock::take(file, command);
    ASSERT_TRUE(first);
    EXPECT_EQ(read_directory_holder(file), (DirectoryHolder{process, command}));
    const auto second = DirectoryLock::take(file, "signalbox audit retain");
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().kind, StoreError::Kind::in_use);
    EXPECT_EQ(second.error().message,
              file.parent_path().string() + " is in use by `" + command + "`, process " + process);
    EXPECT_EQ(read_directory_holder(file), (DirectoryHolder{process, command}));
  }
  EXPECT_TRUE(DirectoryLock::take(file, "signalbox serve"));
}

// The lock file may be from an older version, from a full disk, or from any other program.
TEST(DirectoryLock, SaysOnlyWhatIsThere) {
  const TemporaryDirectory directory;
  const auto file = directory / "server.lock";
  EXPECT_EQ(read_directory_holder(file), DirectoryHolder());
  const std::vector<std::pair<std::string, DirectoryHolder>> known = {
      {"", {}},
      {"42\n", {"42", ""}},
      {"42", {"42", ""}},
      {"42\nsignalbox serve\n", {"42", "signalbox serve"}},
      {"42; reboot\nsignalbox serve\n", {}},
      {std::string(100'000, '4'), {}},
  };
  for (const auto& [bytes, holder] : known) {
    write_text(file, bytes);
    EXPECT_EQ(read_directory_holder(file), holder) << bytes.substr(0, 100);
  }
}

}  // namespace
}  // namespace signalbox::test
