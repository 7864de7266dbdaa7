// The anchor file, which is read only as it was written, and the lock of a data directory.
#include "store/anchor.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>
#include <utility>
#include <vector>

#include "store/directory_lock.h"
#include "store/file_descriptor.h"
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

TEST(DirectoryLock, OfADirectoryLeavesNothingInIt) {
  const TemporaryDirectory directory;
  {
    const auto first = DirectoryLock::take_directory(directory.path());
    ASSERT_TRUE(first);
    const auto second = DirectoryLock::take_directory(directory.path());
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().kind, StoreError::Kind::in_use);
    EXPECT_EQ(second.error().message, directory.path().string() + " is in use by another process");
  }
  EXPECT_TRUE(DirectoryLock::take_directory(directory.path()));
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
  EXPECT_FALSE(DirectoryLock::take_directory(directory / "missing"));
}

// A child that shares what this process has open, as one does between fork(2) and exec(2).
class ChildThatShares {
 public:
  ChildThatShares() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe(ends.data()), 0);
    const FileDescriptor reading(ends[0]);
    writing_ = FileDescriptor(ends[1]);
    pid_ = ::fork();
    EXPECT_GE(pid_, 0);
    if (pid_ != 0) return;
    ::close(writing_.get());
    char end = 0;
    while (::read(reading.get(), &end, 1) > 0) {
    }
    ::_exit(0);
  }
  ~ChildThatShares() {
    end();
    int status = 0;
    if (pid_ > 0) ::waitpid(pid_, &status, 0);
  }
  ChildThatShares(const ChildThatShares&) = delete;
  ChildThatShares& operator=(const ChildThatShares&) = delete;

  void end() { writing_ = FileDescriptor(); }

 private:
  FileDescriptor writing_;
  pid_t pid_ = -1;
};

TEST(DirectoryLock, IsReleasedThoughAChildSharesIt) {
  const TemporaryDirectory directory;
  const auto file = directory / "server.lock";
  auto held = DirectoryLock::take(file, "signalbox serve");
  ASSERT_TRUE(held);
  const ChildThatShares child;
  *held = DirectoryLock();
  EXPECT_TRUE(DirectoryLock::take(file, "signalbox serve"));
}

bool is_open_here(const std::filesystem::path& file) {
  std::error_code ignored;
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd", ignored)) {
    if (std::filesystem::read_symlink(each.path(), ignored) == file) return true;
  }
  return false;
}

// The holder was killed while it started a child, which ends or begins its program soon.
TEST(DirectoryLock, IsWaitedForWhileAChildOfItsHolderSharesIt) {
  const TemporaryDirectory directory;
  const auto file = std::filesystem::canonical(directory.path()) / "server.lock";
  FileDescriptor holder(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(::flock(holder.get(), LOCK_EX | LOCK_NB), 0);
  ChildThatShares child;
  holder = FileDescriptor();  // the child alone has the lock
  EXPECT_FALSE(DirectoryLock::take(file, "signalbox serve"));
  std::atomic<bool> over = false;
  std::thread ending([&] {
    while (!is_open_here(file) && !over) std::this_thread::yield();
    child.end();
  });
  EXPECT_TRUE(DirectoryLock::take(file, "signalbox serve", std::chrono::minutes(1)));
  over = true;
  ending.join();
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
