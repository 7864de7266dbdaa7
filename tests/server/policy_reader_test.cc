// Tests reading the policies of repositories, with real files and real git, and when they are read
// again.
#include "server/board/policy_reader.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <ctime>

#include "domain/nanoseconds.h"
#include "server/board/policy_keys.h"
#include "server/git/git_command.h"
#include "store/sha256.h"
#include "tests/fixtures/git_repository.h"
#include "tests/server/executor_fixture.h"

namespace signalbox {
namespace {

namespace fs = std::filesystem;

// The time now, and a time at which no file's modification is recent any more.
std::int64_t now_ns() { return SystemClock().wall_ns(); }
std::int64_t later_ns() { return now_ns() + 10 * ns_per_s; }

// Returns the processor time that this thread has used.
std::chrono::nanoseconds thread_time() {
  timespec time{};
  EXPECT_EQ(::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time), 0);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

const std::string three = "# Constraints\n- maxAttempts: 3\n";
const std::string seven = "# Constraints\n- maxAttempts: 7\n";

class PolicyReaderTest : public testing::Test {
 protected:
  fs::path repository() {
    const fs::path path = directory_.path() / "repository";
    fs::create_directories(path);
    return path;
  }
  fs::path file() { return repository() / policy_file_name; }

  // Returns nullptr for an error, and puts its message into `error_`.
  std::shared_ptr<const PolicyReading> read(const fs::path& repository, std::int64_t at_ns) {
    auto reading = reader_.read(repository, "main", at_ns);
    error_ = reading ? "" : reading.error().message;
    return reading ? *reading : nullptr;
  }

  // Makes a bare repository and a clone of it; push() pushes the clone's commits there.
  void make_bare() {
    bare_ = directory_.path() / "bare.git";
    clone_ = directory_.path() / "clone";
    run_git(directory_.path(), {"init", "-q", "--bare", "-b", "main", bare_});
    run_git(directory_.path(), {"init", "-q", "-b", "main", clone_});
    run_git(clone_, {"remote", "add", "origin", bare_});
  }
  void push(const std::string& name, const std::string& text) {
    write_text(clone_ / name, text);
    commit_everything(clone_, "change");
    run_git(clone_, {"push", "-q", "origin", "HEAD:main"});
  }

  TemporaryDirectory directory_;
  PolicyReader reader_;
  std::string error_;
  fs::path bare_;
  fs::path clone_;
};

// Which of these readings, one after the other, is whole.
TEST(WholeReading, IsOneDuringWhichNothingChanged) {
  WholeReading settled;
  EXPECT_FALSE(settled.is_whole("ha", /*changed_meanwhile=*/true, /*is_young=*/false));
  EXPECT_FALSE(settled.is_whole("ha", true, false)) << "alike, but the file was changed again";
  EXPECT_TRUE(settled.is_whole("half", false, false));
}

TEST(WholeReading, OfAYoungFileIsTheSecondOfTwoAlike) {
  WholeReading young;
  EXPECT_FALSE(young.is_whole("ha", /*changed_meanwhile=*/false, /*is_young=*/true));
  EXPECT_FALSE(young.is_whole("half", false, true));
  EXPECT_FALSE(young.is_whole("half", true, true));
  EXPECT_FALSE(young.is_whole("half", false, true)) << "alike, but with a change in between";
  EXPECT_TRUE(young.is_whole("half", false, true));
}

TEST_F(PolicyReaderTest, ThereIsNone) {
  const auto none = read(repository(), later_ns());
  ASSERT_TRUE(none) << error_;
  EXPECT_FALSE(none->is_there);
  EXPECT_TRUE(none->digest.is_zero());
  EXPECT_EQ(none->policy.value(), Policy{});
  write_text(file(), "");
  const auto empty = read(repository(), later_ns());
  ASSERT_TRUE(empty) << error_;
  EXPECT_TRUE(empty->is_there);
  EXPECT_EQ(empty->digest, sha256(""));
  fs::remove(file());
  EXPECT_FALSE(read(repository(), later_ns())->is_there);
}

TEST_F(PolicyReaderTest, TextDigestAndPolicy) {
  write_text(file(), seven);
  const auto reading = read(repository(), later_ns());
  ASSERT_TRUE(reading) << error_;
  EXPECT_EQ(reading->text, seven);
  EXPECT_EQ(reading->digest, sha256(seven));
  EXPECT_EQ(reading->policy.value().max_attempts, 7U);
  write_text(file(), "# Builder\n\n- [x] nonsense\n");
  const auto wrong = read(repository(), later_ns());
  ASSERT_TRUE(wrong) << error_;
  ASSERT_FALSE(wrong->policy);
  EXPECT_EQ(wrong->policy.error().line, 3U);
}

TEST_F(PolicyReaderTest, WhatDidNotChangeIsNotReadAgain) {
  write_text(file(), three);
  const auto first = read(repository(), later_ns());
  for (int time = 0; time < 5; ++time) EXPECT_EQ(read(repository(), later_ns()), first);
  EXPECT_EQ(reader_.reads(), 1U);
  // Touched with the same content: the file is read, and the caller sees that nothing changed.
  fs::last_write_time(file(), fs::last_write_time(file()) - std::chrono::hours(1));
  EXPECT_EQ(read(repository(), later_ns()), first);
  EXPECT_EQ(reader_.reads(), 2U);
}

TEST_F(PolicyReaderTest, AYoungFileIsReadAgain) {
  write_text(file(), three);
  struct stat status {};
  ASSERT_EQ(::stat(file().c_str(), &status), 0);
  const std::int64_t changed_ns = status.st_ctim.tv_sec * ns_per_s + status.st_ctim.tv_nsec;
  const auto first = read(repository(), changed_ns);
  EXPECT_EQ(read(repository(), changed_ns + policy_settled_ns - 1), first);
  EXPECT_EQ(reader_.reads(), 2U);
  // After the clock was set back, every file counts as recent.
  EXPECT_EQ(read(repository(), changed_ns - 3600 * ns_per_s), first);
  EXPECT_EQ(reader_.reads(), 3U);
  EXPECT_EQ(read(repository(), changed_ns + policy_settled_ns), first);
  EXPECT_EQ(reader_.reads(), 4U);
  EXPECT_EQ(read(repository(), changed_ns), first);
  EXPECT_EQ(reader_.reads(), 4U);
}

TEST_F(PolicyReaderTest, AYoungFileThatLooksOldIsReadAgain) {
  write_text(file(), three);
  fs::last_write_time(file(), fs::last_write_time(file()) - std::chrono::hours(1));
  struct stat status {};
  ASSERT_EQ(::stat(file().c_str(), &status), 0);
  const std::int64_t changed_ns = status.st_ctim.tv_sec * ns_per_s + status.st_ctim.tv_nsec;
  EXPECT_TRUE(read(repository(), changed_ns + 1));
  EXPECT_TRUE(read(repository(), changed_ns + 1));
  EXPECT_EQ(reader_.reads(), 2U);
}

TEST_F(PolicyReaderTest, NoChangeIsMissedWithinTheGranularityOfTimes) {
  // Same inode and size, as fast as possible: many of these writes have the previous one's time.
  write_text(file(), three);
  for (int time = 0; time < 500; ++time) {
    const std::string& text = time % 2 == 0 ? seven : three;
    const int descriptor = ::open(file().c_str(), O_WRONLY | O_CLOEXEC);
    ASSERT_EQ(::pwrite(descriptor, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
    ::close(descriptor);
    const auto reading = read(repository(), now_ns());
    ASSERT_TRUE(reading) << error_;
    ASSERT_EQ(reading->text, text) << "at change " << time;
  }
}

TEST_F(PolicyReaderTest, AChangeThatHidesItsTimeIsSeen) {
  write_text(file(), three);
  struct stat status {};
  ASSERT_EQ(::stat(file().c_str(), &status), 0);
  ASSERT_EQ(read(repository(), later_ns())->text, three);
  // Waits until the kernel's clock for file times has advanced.
  ASSERT_TRUE(eventually([&] {
    write_text(directory_.path() / "probe", "x");
    struct stat probe {};
    return ::stat((directory_.path() / "probe").c_str(), &probe) == 0 &&
           (probe.st_mtim.tv_sec != status.st_mtim.tv_sec ||
            probe.st_mtim.tv_nsec != status.st_mtim.tv_nsec);
  }));
  write_text(file(), seven);
  const timespec times[2] = {status.st_atim, status.st_mtim};
  ASSERT_EQ(::utimensat(AT_FDCWD, file().c_str(), times, 0), 0);
  EXPECT_EQ(read(repository(), later_ns())->text, seven);
}

TEST_F(PolicyReaderTest, ErrorsAreNotTakenForNone) {
  EXPECT_FALSE(read(directory_.path() / "nowhere", later_ns()));
  EXPECT_NE(error_.find("nowhere isn't there"), std::string::npos) << error_;

  write_text(file(), std::string(policy_file_bytes_max + 1, 'x'));
  EXPECT_FALSE(read(repository(), later_ns()));
  EXPECT_NE(error_.find("is longer than 65536 bytes"), std::string::npos) << error_;
  write_text(file(), std::string(policy_file_bytes_max, 'x'));
  EXPECT_TRUE(read(repository(), later_ns())) << error_;

  fs::remove(file());
  fs::create_symlink("/etc/hostname", file());
  EXPECT_FALSE(read(repository(), later_ns()));
  EXPECT_NE(error_.find("symbolic link"), std::string::npos) << error_;

  fs::remove(file());
  ASSERT_EQ(::mkfifo(file().c_str(), 0600), 0);  // opening it could block until there is a writer
  EXPECT_FALSE(read(repository(), later_ns()));
  EXPECT_NE(error_.find("not a regular file"), std::string::npos) << error_;

  fs::remove(file());
  fs::create_directory(file());
  EXPECT_FALSE(read(repository(), later_ns()));
  fs::remove_all(file());
  write_text(file(), seven);
  EXPECT_EQ(read(repository(), later_ns())->text, seven);

  fs::remove_all(repository());
  EXPECT_FALSE(read(directory_.path() / "repository", later_ns()));
}

TEST_F(PolicyReaderTest, ARepositoryThatGoesIsAnErrorThoughItHadNone) {
  const fs::path path = repository();
  EXPECT_TRUE(read(path, later_ns()));
  fs::remove_all(path);
  EXPECT_FALSE(read(path, later_ns()));
}

TEST_F(PolicyReaderTest, OfABareRepositoryTheBranchCounts) {
  make_bare();
  EXPECT_FALSE(read(bare_, later_ns()));  // it has no commit yet
  EXPECT_NE(error_.find("HEARTBEAT.md: "), std::string::npos) << error_;
  push("README.md", "text");
  const auto none = read(bare_, later_ns());
  ASSERT_TRUE(none) << error_;
  EXPECT_FALSE(none->is_there);

  push(policy_file_name, seven);
  const auto reading = read(bare_, later_ns());
  ASSERT_TRUE(reading) << error_;
  EXPECT_EQ(reading->text, seven);
  EXPECT_EQ(reading->digest, sha256(seven));
  const std::size_t reads = reader_.reads();
  EXPECT_EQ(read(bare_, later_ns()), reading);
  EXPECT_EQ(reader_.reads(), reads);

  push("README.md", "another");  // the branch changed, the file didn't
  EXPECT_EQ(read(bare_, later_ns()), reading);
  EXPECT_EQ(reader_.reads(), reads + 1);

  run_git(bare_, {"pack-refs", "--all"});
  push(policy_file_name, three);
  EXPECT_EQ(read(bare_, later_ns())->text, three);
  run_git(bare_, {"pack-refs", "--all"});
  EXPECT_EQ(read(bare_, later_ns())->text, three);
  // The branch is only in the packed references, before and after.
  push(policy_file_name, seven);
  run_git(bare_, {"pack-refs", "--all"});
  EXPECT_EQ(read(bare_, later_ns())->text, seven);
}

TEST_F(PolicyReaderTest, ABareRepositorysChangesAreSeenAtOnce) {
  make_bare();
  for (int time = 0; time < 6; ++time) {
    const std::string& text = time % 2 == 0 ? seven : three;
    push(policy_file_name, text);
    const auto reading = read(bare_, now_ns());
    ASSERT_TRUE(reading) << error_;
    EXPECT_EQ(reading->text, text);
  }
}

TEST_F(PolicyReaderTest, ABranchThatNamesAnotherChangesWithIt) {
  make_bare();
  push(policy_file_name, seven);
  run_git(bare_, {"symbolic-ref", "refs/heads/alias", "refs/heads/main"});
  EXPECT_EQ((*reader_.read(bare_, "alias", later_ns()))->text, seven);
  push(policy_file_name, three);
  EXPECT_EQ((*reader_.read(bare_, "alias", later_ns()))->text, three);
  EXPECT_EQ((*reader_.read(bare_, "main", later_ns()))->text, three);
}

TEST_F(PolicyReaderTest, ABareRepositorysErrors) {
  make_bare();
  push(policy_file_name, seven);
  for (const char* base : {"", "-x", "main:other", "../main", "no such", "other", "/main"}) {
    EXPECT_FALSE(reader_.read(bare_, base, later_ns())) << base;
  }
  fs::remove(clone_ / policy_file_name);
  fs::create_symlink("README.md", clone_ / policy_file_name);
  push("README.md", "text");
  EXPECT_FALSE(read(bare_, later_ns()));
  EXPECT_NE(error_.find("is not a regular file"), std::string::npos) << error_;
  fs::remove(clone_ / policy_file_name);
  push(policy_file_name, std::string(policy_file_bytes_max + 1, 'x'));
  EXPECT_FALSE(read(bare_, later_ns()));
  EXPECT_NE(error_.find("is longer than 65536 bytes"), std::string::npos) << error_;
}

TEST_F(PolicyReaderTest, GitThatFailedIsAskedAgainWhenTheBranchChangesOrAMinuteLater) {
  make_bare();
  push(policy_file_name, three);
  ASSERT_TRUE(read(bare_, later_ns())) << error_;
  // The commit doesn't exist: git fails, and would fail again.
  const fs::path branch = bare_ / "refs/heads/main";
  const std::string good = content_of(branch);
  write_text(branch, std::string(40, '1') + "\n");
  const std::int64_t at_ns = later_ns();
  EXPECT_FALSE(read(bare_, at_ns));
  const std::string why = error_;
  const std::size_t asked = reader_.reads();
  EXPECT_FALSE(read(bare_, at_ns + ns_per_s));
  EXPECT_EQ(error_, why);
  EXPECT_EQ(reader_.reads(), asked);
  EXPECT_FALSE(read(bare_, at_ns + policy_failure_kept_ns));
  EXPECT_EQ(reader_.reads(), asked + 1);
  write_text(branch, good);
  ASSERT_TRUE(read(bare_, at_ns + policy_failure_kept_ns + 1)) << error_;
}

TEST_F(PolicyReaderTest, AThousandProjectsAreCheapToAskAgain) {
  constexpr int projects = 1000;
  std::vector<fs::path> paths;
  for (int project = 0; project < projects; ++project) {
    paths.push_back(directory_.path() / ("project" + std::to_string(project)));
    fs::create_directory(paths.back());
    if (project % 2 == 0) write_text(paths.back() / policy_file_name, seven);
  }
  const auto tick = [&](std::int64_t at_ns) {
    const auto began = thread_time();
    for (const fs::path& path : paths) EXPECT_TRUE(read(path, at_ns)) << error_;
    return thread_time() - began;
  };
  const std::int64_t at_ns = later_ns();
  tick(at_ns);
  const std::size_t reads = reader_.reads();
  const auto took = tick(at_ns);
  EXPECT_EQ(reader_.reads(), reads);
  EXPECT_LT(took, std::chrono::milliseconds(500));
  RecordProperty(
      "tick_us",
      std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(took).count()));
}

}  // namespace
}  // namespace signalbox
