// Tests the directory of artifacts, which keeps files by the digest of their content.
#include <fcntl.h>
#include <sys/stat.h>

#include "server/platform/atomic_file.h"
#include "tests/server/executor_fixture.h"
#include "tools/runner/old_artifacts.h"

namespace signalbox {
namespace {

class DirectoryArtifactsTest : public ::testing::Test {
 protected:
  TemporaryDirectory directory;
  DirectoryArtifacts store{directory.path() / "artifacts"};
};

TEST_F(DirectoryArtifactsTest, PutAndGet) {
  const Artifact artifact = store.put("notes", "text/plain", "hello\n").value();
  EXPECT_EQ(artifact.bytes, 6U);
  // From sha256sum.
  EXPECT_EQ(to_hex(artifact.sha256),
            "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03");
  EXPECT_EQ(store.get(artifact.sha256).value(), "hello\n");
  EXPECT_EQ(store.path_of(artifact.sha256).parent_path().filename(), "58");
  EXPECT_EQ(store.put("again", "text/plain", "hello\n")->sha256, artifact.sha256);
}

// It isn't there any more, and no later attempt finds it.
TEST_F(DirectoryArtifactsTest, AContentThatWasExchangedIsDamaged) {  // P8
  const Artifact artifact = store.put("notes", "text/plain", "hello\n").value();
  const auto path = store.path_of(artifact.sha256);
  const auto kind = [&] { return store.get(artifact.sha256).error().kind; };
  for (const std::uint64_t bytes : {std::uint64_t{0}, limits::artifact_bytes_max + 1}) {
    std::filesystem::resize_file(path, bytes);
    EXPECT_EQ(kind(), StoreError::Kind::damaged) << bytes;
  }
  std::filesystem::remove(path);
  EXPECT_EQ(kind(), StoreError::Kind::not_found);
  std::filesystem::create_symlink("/etc/hostname", path);
  EXPECT_EQ(kind(), StoreError::Kind::damaged);
  std::filesystem::remove(path);
  std::filesystem::create_directory(path);
  EXPECT_EQ(kind(), StoreError::Kind::damaged);
}

// A process was killed while it stored them.
TEST_F(DirectoryArtifactsTest, WhatAKillLeftOfABlobGoesAfterADay) {  // A15
  const Artifact whole = store.put("notes", "text/plain", "hello\n").value();
  const auto remnant = [&](const std::string& end) {
    const auto path = store.path_of(whole.sha256).string() + end;
    write_text(path, std::string(10'000, 'x'));
    return path;
  };
  const std::string old_one = remnant(".tmp.AbC123");
  const std::string others = store.path_of(whole.sha256).parent_path() / "README.tmp.AbC123";
  write_text(others, "somebody's own");
  const timespec old[2] = {{1000, 0}, {1000, 0}};
  for (const std::string& each : {old_one, others, store.path_of(whole.sha256).string()}) {
    ASSERT_EQ(::utimensat(AT_FDCWD, each.c_str(), old, 0), 0);
  }
  const std::string young = remnant(".tmp.AbC124");
  const std::int64_t before_ns = 2000 * std::int64_t{1'000'000'000};
  EXPECT_EQ(store.remove_unfinished(0x59, before_ns).value(), 0U);
  EXPECT_GT(store.remove_unfinished(0x58, before_ns).value(), 0U);
  EXPECT_FALSE(std::filesystem::exists(old_one));
  for (const std::string& each : {others, young, store.path_of(whole.sha256).string()}) {
    EXPECT_TRUE(std::filesystem::exists(each)) << each;
  }
  EXPECT_EQ(store.remove_unfinished(0x58, before_ns).value(), 0U);
}

// A copy of what the service has, once its result was sent.
TEST_F(DirectoryArtifactsTest, ARunnerKeepsWhatIsYoungOrUnsent) {  // N4
  const Artifact sent = store.put("a", "text/plain", "sent\n").value();
  const Artifact unsent = store.put("b", "text/plain", "unsent\n").value();
  const timespec old[2] = {{1000, 0}, {1000, 0}};
  for (const Artifact& each : {sent, unsent}) {
    ASSERT_EQ(::utimensat(AT_FDCWD, store.path_of(each.sha256).c_str(), old, 0), 0);
  }
  const Artifact young = store.put("c", "text/plain", "young\n").value();
  const std::int64_t before_ns = 2000 * std::int64_t{1'000'000'000};
  EXPECT_GT(remove_old_artifacts(store, {unsent.sha256}, before_ns).value(), 0U);
  EXPECT_FALSE(store.has(sent.sha256).value());
  EXPECT_TRUE(store.has(unsent.sha256).value());
  EXPECT_TRUE(store.has(young.sha256).value());
}

TEST_F(DirectoryArtifactsTest, UnknownIsNotFound) {
  EXPECT_EQ(store.get(Digest{}).error().kind, StoreError::Kind::not_found);
}

TEST_F(DirectoryArtifactsTest, ChangedBytesAreDetectedAndHealedByPutting) {
  const Artifact artifact = store.put("notes", "text/plain", "hello\n").value();
  write_text(store.path_of(artifact.sha256), "hellO\n");
  const auto damaged = store.get(artifact.sha256);
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().kind, StoreError::Kind::damaged);
  EXPECT_EQ(damaged.error().file, store.path_of(artifact.sha256).string());
  ASSERT_TRUE(store.put("notes", "text/plain", "hello\n"));
  EXPECT_EQ(store.get(artifact.sha256).value(), "hello\n");
}

TEST_F(DirectoryArtifactsTest, ConfirmingGivesAFileItsNewTimeAndWritesNothing) {  // N4, A15
  const Artifact artifact = store.put("notes", "text/plain", "hello\n").value();
  const std::string path = store.path_of(artifact.sha256).string();
  const timespec old[2] = {{1000, 0}, {1000, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), old, 0), 0);
  struct stat before {};
  struct stat after {};
  ASSERT_EQ(::stat(path.c_str(), &before), 0);
  EXPECT_TRUE(store.confirm(artifact.sha256, 6).value());
  ASSERT_EQ(::stat(path.c_str(), &after), 0);
  EXPECT_EQ(after.st_ino, before.st_ino);
  EXPECT_GT(after.st_mtim.tv_sec, 1000);
  EXPECT_FALSE(store.confirm(artifact.sha256, 5).value());
  EXPECT_FALSE(store.confirm(Digest{}, 6).value());
}

TEST_F(DirectoryArtifactsTest, ConcurrentPutsOfTheSameContent) {
  std::vector<std::thread> writers;
  for (int index = 0; index < 8; ++index) {
    writers.emplace_back([this] {
      for (int round = 0; round < 20; ++round) {
        EXPECT_TRUE(store.put("n", "text/plain", "round " + std::to_string(round)));
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory.path())) {
    if (entry.is_regular_file()) ++files;
  }
  EXPECT_EQ(files, 20U);  // and no temporary file
}

TEST(AtomicFile, ReplacesAsAWholeAndLeavesNothingBehindOnFailure) {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "file";
  ASSERT_TRUE(write_file_atomically(path, "old"));
  ASSERT_TRUE(write_file_atomically(path, "new"));
  EXPECT_EQ(content_of(path), "new");
  std::filesystem::create_directory(directory.path() / "in-the-way");
  EXPECT_FALSE(write_file_atomically(directory.path() / "in-the-way", "x"));
  EXPECT_FALSE(write_file_atomically(directory.path() / "missing" / "file", "x"));
  std::size_t entries = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(directory.path())) {
    ++entries;
  }
  EXPECT_EQ(entries, 2U);
}

TEST(AtomicFile, ReadsBoundedRegularFilesOnly) {
  const TemporaryDirectory directory;
  const auto read = [](const std::filesystem::path& path) { return read_regular_file(path, 7); };
  const auto file = directory.path() / "file";
  write_text(file, "content");
  EXPECT_EQ(read(file)->size(), 7U);
  std::filesystem::create_symlink(file, directory.path() / "link");
  EXPECT_FALSE(read(directory.path() / "link"));
  ASSERT_EQ(::mkfifo((directory.path() / "fifo").c_str(), 0600), 0);
  EXPECT_FALSE(read(directory.path() / "fifo"));
  std::filesystem::resize_file(file, 8);
  EXPECT_FALSE(read(file));
}

TEST(AtomicFile, MakesDirectoriesUnlessAFileIsInTheWay) {
  const TemporaryDirectory directory;
  EXPECT_TRUE(make_directories(directory.path() / "a/b/c"));
  EXPECT_TRUE(make_directories(directory.path() / "a/b/c"));
  write_text(directory.path() / "file", "");
  EXPECT_FALSE(make_directories(directory.path() / "file"));
  EXPECT_FALSE(make_directories(directory.path() / "file/below"));
}

// G1
TEST(AtomicFile, ADirectoryThatCantBeMadeIsAnErrorWithTheReason) {
  const TemporaryDirectory directory;
  const std::filesystem::path scratch = directory.path();
  std::filesystem::create_symlink(scratch / "nothing", scratch / "dangling");
  std::filesystem::create_symlink(scratch / "loop", scratch / "loop");
  ASSERT_EQ(::mkfifo((scratch / "fifo").c_str(), 0600), 0);
  const auto error_of = [](const std::filesystem::path& path) {
    const auto made = make_directories(path);
    return made ? std::string("made") : made.error().message;
  };
  const auto expect_reason = [&error_of](const std::filesystem::path& path, const char* reason) {
    EXPECT_NE(error_of(path).find(reason), std::string::npos) << error_of(path);
  };
  expect_reason("/proc/x", "No such file or directory");
  expect_reason("/proc/x/y/z", "No such file or directory");
  expect_reason(scratch / "dangling", "No such file or directory");
  expect_reason(scratch / "dangling/below", "No such file or directory");
  expect_reason(scratch / "loop", "Too many levels of symbolic links");
  expect_reason(scratch / "loop/below", "Too many levels of symbolic links");
  expect_reason(scratch / "fifo", "Not a directory");
  expect_reason(scratch / "fifo/below", "Not a directory");
  expect_reason(scratch / std::string(300, 'x'), "File name too long");
  EXPECT_EQ(error_of(scratch / "a/../b/./c/"), "made");
  std::string deep = scratch;
  for (int depth = 0; depth < 1000; ++depth) deep += "/d";
  EXPECT_EQ(error_of(deep), "made");
}

}  // namespace
}  // namespace signalbox
