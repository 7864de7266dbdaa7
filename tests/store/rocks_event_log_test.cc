// Opening and closing the log on disk: exclusive access, checkpoints, the anchor, and what an
// opening verifies.
#include "store/rocks_event_log.h"

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "store/anchor.h"
#include "store/merkle_tree.h"
#include "tests/fixtures/file_content.h"
#include "tests/fixtures/temporary_directory.h"
#include "tests/store/log_directory.h"
#include "tests/store/sample_events.h"

namespace signalbox::test {
namespace {

Digest root_of_frontier(const MerkleFrontier& frontier) {
  Sha256 sha256;
  return merkle_root(frontier, sha256);
}

StoreError failure_of_opening(const std::filesystem::path& data,
                              RocksEventLog::Options options = {}) {
  const auto log = RocksEventLog::open(data, std::move(options));
  EXPECT_FALSE(log);
  return log ? StoreError{StoreError::Kind::not_found, "it opened", "", 0} : log.error();
}

class RocksEventLogTest : public testing::Test {
 protected:
  TemporaryDirectory data_;
};

TEST_F(RocksEventLogTest, IsThereAgainAfterClosing) {
  MerkleFrontier frontier;
  std::vector<Record> records;
  {
    auto log = open_log(data_.path());
    append_commits(*log, 5);
    frontier = log->frontier();
    records = *all_records(*log);
    ASSERT_TRUE(log->close());
  }
  auto log = open_log(data_.path());
  EXPECT_EQ(log->tail(), 15U);
  EXPECT_EQ(log->frontier(), frontier);
  EXPECT_EQ(*all_records(*log), records);
  EXPECT_EQ(log->report().tail, 15U);
  EXPECT_EQ(log->report().anchor, 15U);
  EXPECT_EQ(log->report().records_verified, 15U);
  EXPECT_EQ(log->report().torn_bytes, 0U);
  append_commits(*log, 1);
  EXPECT_EQ(log->tail(), 18U);
}

TEST_F(RocksEventLogTest, IsThereAgainAfterACrash) {
  auto log = open_log(data_.path());
  append_commits(*log, 5);
  const TemporaryDirectory crashed;
  copy_directory(data_.path(), crashed.path());
  auto recovered = open_log(crashed.path());
  EXPECT_EQ(*all_records(*recovered), *all_records(*log));
  EXPECT_EQ(recovered->report().torn_bytes, 0U);
}

TEST_F(RocksEventLogTest, LivesThroughManyLives) {
  for (int life = 0; life < 10; ++life) {
    auto log = open_log(data_.path());
    EXPECT_EQ(log->tail(), static_cast<Position>(life) * 6);
    append_commits(*log, 2);
  }
  auto log = open_log(data_.path());
  EXPECT_EQ(*all_records(*log), sample_commit(1, 60));
  ASSERT_TRUE(log->verify(60));
}

TEST_F(RocksEventLogTest, ReadsAgainOnlyWhatLiesAfterTheCheckpoint) {
  MerkleFrontier early;
  {
    auto log = open_log(data_.path());
    append_commits(*log, 2);
    early = log->frontier();
    append_commits(*log, 3);
  }
  const auto log = open_log(data_.path(), {.verified = Checkpoint{6, early}});
  EXPECT_EQ(log->report().records_verified, 9U);
  EXPECT_EQ(log->tail(), 15U);
}

TEST_F(RocksEventLogTest, TakesACheckpointWithinACommit) {
  { append_commits(*open_log(data_.path()), 3); }
  const MerkleFrontier frontier = *open_log(data_.path())->verify(5);
  EXPECT_EQ(frontier.leaves, 5U);
  const auto log = open_log(data_.path(), {.verified = Checkpoint{5, frontier}});
  EXPECT_EQ(log->report().records_verified, 4U);
}

TEST_F(RocksEventLogTest, RefusesALogThatIsShorterThanItsCheckpoint) {
  MerkleFrontier later;
  const TemporaryDirectory short_log;
  {
    auto log = open_log(data_.path());
    append_commits(*log, 2);
    copy_directory(data_.path(), short_log.path());
    append_commits(*log, 1);
    later = log->frontier();
  }
  const StoreError error = failure_of_opening(short_log.path(), {.verified = Checkpoint{9, later}});
  EXPECT_EQ(error.kind, StoreError::Kind::damaged);
  EXPECT_NE(error.message.find("ends at 6"), std::string::npos) << error.message;
}

TEST_F(RocksEventLogTest, RefusesACheckpointOfAnotherHistory) {
  { append_commits(*open_log(data_.path()), 2); }
  MerkleFrontier other;
  {
    const TemporaryDirectory elsewhere;
    auto log = open_log(elsewhere.path());
    append_commits(*log, 1);
    other = log->frontier();  // other salts, so another tree
  }
  const StoreError error = failure_of_opening(data_.path(), {.verified = Checkpoint{3, other}});
  EXPECT_EQ(error.kind, StoreError::Kind::damaged);
}

TEST_F(RocksEventLogTest, IsOpenedByOneAtATime) {
  auto log = open_log(data_.path());
  const StoreError error = failure_of_opening(data_.path());
  EXPECT_EQ(error.kind, StoreError::Kind::in_use);
  EXPECT_NE(error.message.find(std::to_string(::getpid())), std::string::npos) << error.message;
  ASSERT_TRUE(log->close());
  EXPECT_TRUE(RocksEventLog::open(data_.path(), {}));
}

TEST_F(RocksEventLogTest, IsReadWhileAnotherWrites) {
  auto log = open_log(data_.path());
  append_commits(*log, 2);
  const auto reader = open_log(data_.path(), {.read_only = true});
  append_commits(*log, 2);
  EXPECT_EQ(reader->tail(), 6U);
  EXPECT_EQ(*all_records(*reader), sample_commit(1, 6));
  const auto later = open_log(data_.path(), {.read_only = true});
  EXPECT_EQ(*all_records(*later), sample_commit(1, 12));
}

TEST_F(RocksEventLogTest, LeavesNoTraceOfReading) {
  { append_commits(*open_log(data_.path()), 2); }
  const auto names = [&] {
    std::vector<std::string> all;
    for (const auto& file : std::filesystem::recursive_directory_iterator(data_.path())) {
      all.push_back(file.path().string() + " " +
                    (file.is_regular_file() ? content_of(file.path()) : ""));
    }
    std::ranges::sort(all);
    return all;
  };
  const auto before = names();
  { EXPECT_EQ(open_log(data_.path(), {.read_only = true})->tail(), 6U); }
  EXPECT_EQ(names(), before);
}

TEST_F(RocksEventLogTest, IsNotThereToReadAtFirst) {
  EXPECT_EQ(failure_of_opening(data_.path(), {.read_only = true}).kind,
            StoreError::Kind::not_found);
  EXPECT_TRUE(std::filesystem::is_empty(data_.path()));
}

TEST_F(RocksEventLogTest, IsAnchoredExactlyWhenClosed) {
  auto log = open_log(data_.path());
  append_commits(*log, 4);
  const Anchor expected{12, root_of_frontier(log->frontier())};
  ASSERT_TRUE(log->close());
  EXPECT_EQ(**read_anchor(data_ / "anchor"), expected);
}

TEST_F(RocksEventLogTest, RefusesALogThatIsShorterThanItsAnchor) {
  const TemporaryDirectory short_log;
  {
    auto log = open_log(data_.path());
    append_commits(*log, 2);
    copy_directory(data_.path(), short_log.path());
    append_commits(*log, 1);
  }
  std::filesystem::copy_file(data_ / "anchor", short_log / "anchor",
                             std::filesystem::copy_options::overwrite_existing);
  for (const RocksEventLog::Options& options : std::vector<RocksEventLog::Options>{
           {}, {.read_only = true}, {.read_only = true, .believes_head = true}}) {
    const StoreError error = failure_of_opening(short_log.path(), options);
    EXPECT_EQ(error.kind, StoreError::Kind::damaged);
    EXPECT_NE(error.message.find("ends at 6 but the anchor says 9"), std::string::npos)
        << error.message;
    EXPECT_EQ(error.position, 7U);
  }
}

TEST_F(RocksEventLogTest, RefusesALogOtherThanItsAnchors) {
  { append_commits(*open_log(data_.path()), 2); }
  Anchor anchor = **read_anchor(data_ / "anchor");
  anchor.root.bytes[0] ^= 1;
  ASSERT_TRUE(write_anchor(data_ / "anchor", anchor));
  EXPECT_EQ(failure_of_opening(data_.path()).kind, StoreError::Kind::damaged);
  // Also with an anchor before the tail.
  anchor.position = 4;
  ASSERT_TRUE(write_anchor(data_ / "anchor", anchor));
  EXPECT_EQ(failure_of_opening(data_.path()).kind, StoreError::Kind::damaged);
}

TEST_F(RocksEventLogTest, RefusesALogWithoutItsAnchor) {
  { append_commits(*open_log(data_.path()), 2); }
  std::filesystem::remove(data_ / "anchor");
  const StoreError error = failure_of_opening(data_.path());
  EXPECT_EQ(error.kind, StoreError::Kind::damaged);
  EXPECT_EQ(error.file, (data_ / "anchor").string());
}

TEST_F(RocksEventLogTest, DoesNotBeginANewLogOverARuin) {
  { append_commits(*open_log(data_.path()), 2); }
  std::filesystem::remove(data_ / "log" / "CURRENT");
  EXPECT_EQ(failure_of_opening(data_.path()).kind, StoreError::Kind::damaged);
  std::filesystem::remove_all(data_ / "log");
  EXPECT_EQ(failure_of_opening(data_.path()).kind, StoreError::Kind::damaged);
  EXPECT_FALSE(std::filesystem::exists(data_ / "log" / "CURRENT"));
}

TEST_F(RocksEventLogTest, WaitsForNoWriterOfAFifo) {  // G2
  { append_commits(*open_log(data_.path()), 2); }
  for (const char* name : {"anchor", "log/CURRENT"}) {
    SCOPED_TRACE(name);
    std::filesystem::rename(data_ / name, data_ / "aside");
    ASSERT_EQ(::mkfifo((data_ / name).c_str(), 0600), 0);
    const StoreError error = failure_of_opening(data_.path());
    EXPECT_EQ(error.kind, StoreError::Kind::damaged);
    EXPECT_EQ(error.file, (data_ / name).string());
    std::filesystem::rename(data_ / "aside", data_ / name);
  }
  EXPECT_GT(open_log(data_.path())->tail(), 0U);
}

TEST_F(RocksEventLogTest, BeginsNoNewLogBesideWhatAnotherOneLeft) {  // G2
  for (const char* made : {"projections/read_models/CURRENT", "projections/snapshots/7"}) {
    SCOPED_TRACE(made);
    const TemporaryDirectory directory;
    std::filesystem::create_directories((directory / made).parent_path());
    std::ofstream(directory / made) << "made from a log";
    EXPECT_EQ(failure_of_opening(directory.path()).kind, StoreError::Kind::damaged);
    EXPECT_FALSE(std::filesystem::exists(directory / "log" / "CURRENT"));
    std::filesystem::remove_all(directory / "projections");
    EXPECT_EQ(open_log(directory.path())->tail(), 0U);
  }
}

TEST_F(RocksEventLogTest, AnchorsOnItsWay) {
  auto log = open_log(data_.path());
  // The anchor follows within a second of an append, and only appends cause it to be written.
  while ((**read_anchor(data_ / "anchor")).position == 0) append_commits(*log, 1);
  const Anchor anchor = **read_anchor(data_ / "anchor");
  EXPECT_LE(anchor.position, log->tail());
  EXPECT_EQ(anchor.root, root_of_frontier(*log->verify(anchor.position)));
}

}  // namespace
}  // namespace signalbox::test
