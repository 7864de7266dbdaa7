// A power loss, or a disk failure, at every disk operation of a log: the acknowledged
// records are there, there are no records but those that were sent, and the log can be used
// further.
//
// Which operations these are, changes from run to run; SIGNALBOX_EVERY_FAULT=1 tries all.
//
//   SIGNALBOX_SEED=7 test_power_loss --gtest_filter='PowerLoss*'
#include <fcntl.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <iostream>
#include <random>
#include <set>
#include <span>

#include "store/durable_file.h"
#include "store/file_descriptor.h"
#include "tests/fixtures/file_content.h"
#include "tests/fixtures/random_seed.h"
#include "tests/fixtures/temporary_directory.h"
#include "tests/power_loss/power_loss_disk.h"
#include "tests/power_loss/power_loss_image.h"
#include "tests/power_loss/power_loss_session.h"
#include "tests/store/log_directory.h"

namespace signalbox::test {
namespace {

using Leaves = PowerLoss::Leaves;
using Kind = DiskOperation::Kind;

class PowerLossTest : public testing::Test {
 protected:
  PowerLossTest() {
    const std::uint64_t seed = random_seed();
    random_.seed(seed);
    std::cout << "again with: SIGNALBOX_SEED=" << seed << std::endl;
  }

  std::size_t pick(std::size_t from, std::size_t to) {
    return std::uniform_int_distribution<std::size_t>(from, to)(random_);
  }

  // Loses power after the first `operations` operations of the session, then starts again.
  void lose_power(const WatchedDisk& disk, const ExpectedLog& expected, std::size_t operations,
                  Leaves leaves, const std::string& about) {
    const TemporaryDirectory image(fast_directory());
    write_power_loss_image(std::span(disk.journal()).first(operations), {leaves, random_()},
                           image.path());
    // The disk is watched only so that nothing waits for real syncs.
    const WatchedDisk found(image.path());
    check_recovery(image / "data", expected,
                   about + ", power lost after operation " + std::to_string(operations) +
                       (leaves == Leaves::the_synced ? "" : ", keeping a random part"));
    ++losses_;
  }

  // Lets the n-th operation fail, for n up to where none fails any more.
  void fail_every_operation(int error, bool lasting, const std::string& about) {
    std::size_t faults = 0;
    for (std::size_t n = pick(1, stride_); !HasFailure(); n += stride_) {
      const TemporaryDirectory root(fast_directory());
      WatchedDisk disk(root.path());
      disk.fail({n, error, lasting});
      PowerLossSession session(disk);
      const std::string where = about + " at operation " + std::to_string(n);
      session.run(where);
      if (disk.faults() == 0) break;
      ++faults;
      // The power is lost some time after the fault. The session itself covers starts without a
      // loss.
      const std::size_t moment = pick(std::min(n, disk.operations()), disk.operations());
      lose_power(disk, session.expected_after(moment), moment,
                 pick(0, 2) == 0 ? Leaves::the_synced : Leaves::a_random_part, where);
    }
    EXPECT_GT(faults, 100 / stride_);
    std::cout << about << ": " << faults << " faults, " << losses_ << " power losses" << std::endl;
  }

  std::mt19937_64 random_;
  const std::size_t stride_ = FaultRotation(24).stride;
  std::size_t losses_ = 0;
};

TEST_F(PowerLossTest, AtEveryOperation) {  // P1, P2, P5
  const TemporaryDirectory root(fast_directory());
  WatchedDisk disk(root.path());
  PowerLossSession session(disk);
  session.run("undisturbed");
  EXPECT_GT(session.expected_after(disk.operations()).acknowledged, 50U);
  EXPECT_EQ(session.expected_after(disk.operations()).erased.size(), 2U);
  for (std::size_t n = pick(0, stride_ - 1); n <= disk.operations() && !HasFailure();
       n += stride_) {
    lose_power(disk, session.expected_after(n), n, Leaves::the_synced, "undisturbed");
    lose_power(disk, session.expected_after(n), n, Leaves::a_random_part, "undisturbed");
  }
  std::cout << disk.operations() << " operations, " << losses_ << " power losses" << std::endl;
}

// A power loss, a start, and a second power loss at every operation of that start.
TEST_F(PowerLossTest, AtEveryOperationOfARecovery) {  // P1, P2
  const TemporaryDirectory root(fast_directory());
  WatchedDisk disk(root.path());
  PowerLossSession session(disk);
  session.run("undisturbed");
  for (int round = 0; round < 4 && !HasFailure(); ++round) {
    const std::size_t first = pick(1, disk.operations());
    const TemporaryDirectory image(fast_directory());
    write_power_loss_image(std::span(disk.journal()).first(first),
                           {Leaves::a_random_part, random_()}, image.path());
    WatchedDisk found(image.path());
    ExpectedLog expected = session.expected_after(first);
    const std::size_t before = found.operations();
    {
      const auto log = RocksEventLog::open(image / "data", PowerLossSession::options());
      ASSERT_TRUE(log) << log.error().message;
    }
    const std::string about = "recovering from a loss after " + std::to_string(first);
    for (std::size_t n = before + pick(0, stride_ - 1); n <= found.operations() && !HasFailure();
         n += stride_) {
      lose_power(found, expected, n, Leaves::a_random_part, about);
    }
  }
  std::cout << losses_ << " power losses" << std::endl;
}

TEST_F(PowerLossTest, AfterAnErrorAtEveryOperation) { fail_every_operation(EIO, false, "EIO"); }
TEST_F(PowerLossTest, AfterErrorsFromEveryOperationOn) {
  fail_every_operation(EIO, true, "EIO from then on");
}
TEST_F(PowerLossTest, AfterNoSpaceAtEveryOperation) {
  fail_every_operation(ENOSPC, false, "ENOSPC");
}
TEST_F(PowerLossTest, AfterNoSpaceFromEveryOperationOn) {
  fail_every_operation(ENOSPC, true, "ENOSPC from then on");
}

// The journal is complete: everything that an opening reads is in it.
TEST_F(PowerLossTest, IsTheLossOfNothingWhereEverythingIsKept) {
  const TemporaryDirectory root(fast_directory());
  WatchedDisk disk(root.path());
  PowerLossSession(disk).run("undisturbed");
  const TemporaryDirectory image(fast_directory());
  write_power_loss_image(disk.journal(), {Leaves::everything, 0}, image.path());
  std::size_t compared = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(root.path())) {
    const std::string name = file.path().filename().string();
    if (!file.is_regular_file() || name.starts_with("LOG")) continue;
    const auto kept = image / file.path().lexically_relative(root.path());
    ASSERT_TRUE(std::filesystem::exists(kept)) << kept;
    EXPECT_TRUE(content_of(kept) == content_of(file.path())) << kept;
    ++compared;
  }
  EXPECT_GT(compared, 8U);
}

// The test can fail: on a disk that lies about syncs, acknowledged records are lost.
TEST_F(PowerLossTest, OnADiskThatLiesAboutSyncsIsNoticed) {
  const TemporaryDirectory root(fast_directory());
  WatchedDisk disk(root.path());
  {
    const auto log = open_log(root / "data", PowerLossSession::options());
    append_commits(*log, 2);
    disk.lie_about_syncs();
    append_commits(*log, 2);
    ASSERT_EQ(log->tail(), 12U);
  }
  const TemporaryDirectory image(fast_directory());
  write_power_loss_image(disk.journal(), {Leaves::the_synced, 0}, image.path());
  EXPECT_EQ(open_log(image / "data")->tail(), 6U);
}

// The model itself, with a file and a directory.
class PowerLossModel : public testing::Test {
 protected:
  PowerLossModel() {
    std::filesystem::create_directory(disk_.root() / "d");
    sync(disk_.root());
  }
  void write(const std::string& name, std::string_view bytes, bool synced) {
    const FileDescriptor file(
        ::open((disk_.root() / name).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    ::lseek(file.get(), 0, SEEK_END);
    ASSERT_EQ(::write(file.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    if (synced) {
      ASSERT_EQ(::fdatasync(file.get()), 0);
    }
  }
  static void sync(const std::filesystem::path& directory) {
    ASSERT_TRUE(sync_directory(directory));
  }
  // Returns the files that a loss leaves, as "name:bytes", sorted.
  std::string left(Leaves leaves, std::uint64_t seed = 0) {
    const TemporaryDirectory image(fast_directory());
    write_power_loss_image(disk_.journal(), {leaves, seed}, image.path());
    std::vector<std::string> files;
    for (const auto& file : std::filesystem::recursive_directory_iterator(image.path())) {
      if (!file.is_regular_file()) continue;
      files.push_back(file.path().lexically_relative(image.path()).string() + ":" +
                      content_of(file.path()));
    }
    std::ranges::sort(files);
    std::string all;
    for (const std::string& each : files) all += each + " ";
    return all;
  }

  TemporaryDirectory root_{fast_directory()};
  WatchedDisk disk_{root_.path()};
};

TEST_F(PowerLossModel, KeepsAFileWhoseBytesAndNameAreSynced) {
  write("d/a", "one", true);
  EXPECT_EQ(left(Leaves::the_synced), "");
  sync(disk_.root() / "d");
  EXPECT_EQ(left(Leaves::the_synced), "d/a:one ");
  write("d/a", "two", false);
  EXPECT_EQ(left(Leaves::the_synced), "d/a:one ");
  EXPECT_EQ(left(Leaves::everything), "d/a:onetwo ");
}

TEST_F(PowerLossModel, TearsWhatIsNotSynced) {
  write("d/a", "one", true);
  sync(disk_.root() / "d");
  write("d/a", "two", false);
  std::set<std::string> seen;
  for (std::uint64_t seed = 0; seed < 200; ++seed) seen.insert(left(Leaves::a_random_part, seed));
  for (const char* part : {"d/a:one ", "d/a:onet ", "d/a:onetw ", "d/a:onetwo "}) {
    EXPECT_TRUE(seen.contains(part)) << part;
  }
}

TEST_F(PowerLossModel, TakesBackARenameThatIsNotSynced) {
  write("d/a", "old", true);
  write("d/b", "new", true);
  sync(disk_.root() / "d");
  ASSERT_EQ(::rename((disk_.root() / "d/b").c_str(), (disk_.root() / "d/a").c_str()), 0);
  EXPECT_EQ(left(Leaves::the_synced), "d/a:old d/b:new ");
  sync(disk_.root() / "d");
  EXPECT_EQ(left(Leaves::the_synced), "d/a:new ");
}

TEST_F(PowerLossModel, DoubtsForEverWhatAFailedSyncShouldHaveWritten) {
  write("d/a", "one", true);
  sync(disk_.root() / "d");
  disk_.fail({2, EIO, false});
  const FileDescriptor file(::open((disk_.root() / "d/a").c_str(), O_WRONLY | O_CLOEXEC));
  ASSERT_EQ(::pwrite(file.get(), "two", 3, 3), 3);
  EXPECT_EQ(::fdatasync(file.get()), -1);
  ASSERT_EQ(::pwrite(file.get(), "three", 5, 6), 5);
  EXPECT_EQ(::fdatasync(file.get()), 0);
  EXPECT_EQ(left(Leaves::the_synced), "d/a:one" + std::string(3, '\0') + "three ");
}

}  // namespace
}  // namespace signalbox::test
