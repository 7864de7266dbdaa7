// Tests two servers with one run root: each file is a complete one of either server. And files that
// others have made large.
#include "server/followers/run_root/run_root_disk.h"

#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <thread>

#include "tests/server/executor_fixture.h"

namespace signalbox {
namespace {

TEST(RunRootDisk, ServersHaveTagsOfTheirOwnAndKeepThem) {
  EXPECT_EQ(temporary_tag("/a/runs"), temporary_tag("/a/runs"));
  EXPECT_NE(temporary_tag("/a/runs"), temporary_tag("/b/runs"));
}

TEST(RunRootDisk, TwoServersInOneRootNeverLeaveHalfAFile) {  // T7
  const TemporaryDirectory directory;
  const auto file = directory.path() / "logs" / "tick-in-progress.json";
  std::atomic<int> writing = 2;
  const auto server = [&](char letter) {
    FileChange change{
        directory.path().string(), run_root_path::tick_marker, FileChange::Kind::write, {}, 1};
    const std::string tag = temporary_tag(std::string("/") + letter + "/runs");
    for (std::size_t number = 1; number <= 300; ++number) {
      change.bytes.assign(20'000 + number, letter);
      change.bytes += '\n';
      const auto applied = apply_change(change, tag);
      EXPECT_TRUE(applied) << applied.error().message;
    }
    --writing;
  };
  std::thread one(server, 'a');
  std::thread other(server, 'b');
  while (writing > 0) {
    const std::string text = content_of(file);
    if (text.empty()) continue;  // not there yet
    EXPECT_EQ(text.find_first_not_of(text.front()), text.size() - 1) << "of both";
    EXPECT_EQ(text.back(), '\n') << "half a file";
    EXPECT_GT(text.size(), 20'000U);
  }
  one.join();
  other.join();
}

// What others make of the files: agents write in run roots, too.
class LargeFiles : public ::testing::Test {
 protected:
  static constexpr std::uintmax_t sparse_bytes = std::uintmax_t{1} << 30;

  static std::int64_t most_memory_kib() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
  }
  [[nodiscard]] std::filesystem::path file(const char* path) const {
    return directory_.path() / path;
  }
  void make_sparse(const char* path) const {
    std::filesystem::create_directories(file(path).parent_path());
    std::ofstream(file(path)) << "x";
    std::filesystem::resize_file(file(path), sparse_bytes);
  }
  void apply(const char* path, FileChange::Kind kind, const std::string& bytes) const {
    const auto applied =
        apply_change({directory_.path().string(), path, kind, bytes, 7}, temporary_tag("/runs"));
    EXPECT_TRUE(applied) << applied.error().message;
  }

  TemporaryDirectory directory_;
};

TEST_F(LargeFiles, AreNotReadIntoMemory) {  // G1, T7
  make_sparse(run_root_path::tick_marker);
  make_sparse(run_root_path::tick_ledger);
  const std::int64_t before_kib = most_memory_kib();
  apply(run_root_path::tick_marker, FileChange::Kind::write, "marker\n");
  apply(run_root_path::tick_ledger, FileChange::Kind::append, "row\n");
  EXPECT_LT(most_memory_kib() - before_kib, static_cast<std::int64_t>(sparse_bytes / 1024 / 4));
  EXPECT_EQ(content_of(file(run_root_path::tick_marker)), "marker\n");
  EXPECT_EQ(content_of(file(run_root_path::tick_ledger)), "row\n");
  const auto aside = file(run_root_path::tick_ledger).string() + ".replaced-7";
  EXPECT_EQ(std::filesystem::file_size(aside), sparse_bytes) << "nothing of others is deleted";
}

TEST_F(LargeFiles, ALargeLedgerKeepsItsRowsAndLosesAnUnfinishedOne) {  // T7
  std::filesystem::create_directories(file(run_root_path::tick_ledger).parent_path());
  std::string rows;
  while (rows.size() <= 17UL * 1024 * 1024) rows += std::string(1000, 'r') + "\n";
  std::ofstream(file(run_root_path::tick_ledger)) << rows << "old\nunfini";
  apply(run_root_path::tick_ledger, FileChange::Kind::append, "old\nnew\n");
  EXPECT_TRUE(content_of(file(run_root_path::tick_ledger)) == rows + "old\nnew\n");
}

// Runs as another user, because root may write to any file.
TEST_F(LargeFiles, ALargeLedgerThatCantBeWrittenIsSetAsideAsItIs) {  // T7
  std::filesystem::permissions(directory_.path(), std::filesystem::perms::all);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::geteuid() == 0 && (::setgid(65534) != 0 || ::setuid(65534) != 0)) ::_exit(3);
    make_sparse(run_root_path::tick_ledger);
    const auto ledger = file(run_root_path::tick_ledger);
    std::filesystem::permissions(ledger, std::filesystem::perms::owner_read);
    apply(run_root_path::tick_ledger, FileChange::Kind::append, "row\n");
    std::error_code missing;
    const bool is_kept =
        std::filesystem::file_size(ledger.string() + ".replaced-7", missing) == sparse_bytes;
    ::_exit(is_kept && content_of(ledger) == "row\n" ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace signalbox
