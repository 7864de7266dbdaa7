// Changes by somebody who knows the format: every checksum is right, and the anchor is empty. The
// positions and the Merkle tree reveal them.
#include <gtest/gtest.h>

#include "store/anchor.h"
#include "store/entry.h"
#include "store/head.h"
#include "store/rocks_database.h"
#include "store/sha256.h"
#include "tests/fixtures/temporary_directory.h"
#include "tests/store/log_directory.h"
#include "tests/store/sample_events.h"

namespace signalbox::test {
namespace {

class Tampering : public testing::Test {
 protected:
  void SetUp() override {
    auto log = open_log(data_.path());
    append_commits(*log, 4);
    frontier_ = log->frontier();
    ASSERT_TRUE(log->close());
    ASSERT_TRUE(write_anchor(data_ / "anchor", {0, sha256("")}));
  }

  // Returns the entry of a commit, encoded again: with new salts.
  static std::string entry_of(const Commit& commit) {
    Sha256 hasher;
    MerkleFrontier ignored;
    std::string entry;
    encode_entry(commit, secure_random(), hasher, ignored, entry);
    return entry;
  }

  void put(Position first, const std::string& entry) {
    auto database = RocksDatabase::open(data_ / "log", RocksDatabase::Mode::read_write, nullptr);
    ASSERT_TRUE(database) << database.error().message;
    rocksdb::WriteBatch batch = RocksDatabase::batch(0);
    (*database)->put_entry(batch, first, entry);
    ASSERT_TRUE((*database)->write(batch).ok());
  }

  void put_head(const MerkleFrontier& frontier) {
    auto database = RocksDatabase::open(data_ / "log", RocksDatabase::Mode::read_write, nullptr);
    ASSERT_TRUE(database) << database.error().message;
    std::string head;
    encode_head(frontier, head);
    rocksdb::WriteBatch batch = RocksDatabase::batch(0);
    (*database)->put_head(batch, head);
    ASSERT_TRUE((*database)->write(batch).ok());
  }

  StoreError failure_of_opening() {
    const auto log = RocksEventLog::open(data_.path(), {});
    EXPECT_FALSE(log);
    return log ? StoreError{StoreError::Kind::not_found, "it opened", "", 0} : log.error();
  }

  TemporaryDirectory data_;
  MerkleFrontier frontier_;
};

TEST_F(Tampering, WithARecordShowsInTheTree) {
  Commit commit = sample_commit(4, 3);
  commit[1].actor = "uid:0";
  put(4, entry_of(commit));
  const StoreError error = failure_of_opening();
  EXPECT_EQ(error.kind, StoreError::Kind::damaged);
  EXPECT_NE(error.message.find("Merkle roots differ"), std::string::npos) << error.message;
}

// A reader that proves nothing needn't read the whole log first. Each record is checked as it is
// read, and whoever verifies recomputes the tree.
TEST_F(Tampering, IsNotLookedForByAReaderThatBelievesTheHead) {
  Commit commit = sample_commit(4, 3);
  commit[1].actor = "uid:0";
  put(4, entry_of(commit));
  const auto reader = open_log(data_.path(), {.read_only = true, .believes_head = true});
  EXPECT_EQ(reader->report().records_verified, 0U);
  EXPECT_EQ(reader->tail(), 12U);
  EXPECT_EQ(all_records(*reader)->at(4).actor, "uid:0");
  EXPECT_FALSE(reader->verify(reader->tail()));
  // Records that are missing show all the same.
  put(4, entry_of(sample_commit(4, 2)));
  const auto shorter = open_log(data_.path(), {.read_only = true, .believes_head = true});
  EXPECT_EQ(all_records(*shorter).error().kind, StoreError::Kind::damaged);
}

TEST_F(Tampering, WithASaltShowsInTheTree) {
  put(4, entry_of(sample_commit(4, 3)));
  EXPECT_EQ(failure_of_opening().kind, StoreError::Kind::damaged);
}

TEST_F(Tampering, WithTheOrderOfRecordsShowsInTheirPositions) {
  Commit commit = sample_commit(4, 3);
  std::swap(commit[0], commit[1]);
  put(4, entry_of(commit));
  const StoreError error = failure_of_opening();
  EXPECT_EQ(error.kind, StoreError::Kind::damaged);
  EXPECT_EQ(error.position, 4U);
}

TEST_F(Tampering, ByCuttingACommitShortShowsAsAHole) {
  put(4, entry_of(sample_commit(4, 2)));
  const StoreError error = failure_of_opening();
  EXPECT_EQ(error.kind, StoreError::Kind::damaged);
  EXPECT_EQ(error.position, 6U);
  EXPECT_NE(error.message.find("record 6 is missing"), std::string::npos) << error.message;
}

TEST_F(Tampering, ByMakingACommitLongerShowsAsAnOverlap) {
  put(4, entry_of(sample_commit(4, 4)));
  EXPECT_EQ(failure_of_opening().kind, StoreError::Kind::damaged);
}

TEST_F(Tampering, ByEmptyingACommitIsFound) {
  put(4, "");
  const StoreError error = failure_of_opening();
  EXPECT_EQ(error.kind, StoreError::Kind::damaged);
  EXPECT_EQ(error.position, 4U);
}

TEST_F(Tampering, ByAddingACommitThatTheHeadDoesNotKnowIsFound) {
  put(13, entry_of(sample_commit(13, 1)));
  EXPECT_EQ(failure_of_opening().kind, StoreError::Kind::damaged);
}

TEST_F(Tampering, WithTheHeadIsFound) {
  MerkleFrontier other = frontier_;
  other.subtrees.back().bytes[5] ^= 1;
  put_head(other);
  EXPECT_EQ(failure_of_opening().kind, StoreError::Kind::damaged);
}

TEST_F(Tampering, BehindTheCheckpointIsFoundByVerifying) {
  Commit commit = sample_commit(1, 3);
  commit[1].actor = "uid:0";
  put(1, entry_of(commit));
  auto log = open_log(data_.path(), {.verified = Checkpoint{12, frontier_}});
  const auto verified = log->verify(12);
  ASSERT_FALSE(verified);
  EXPECT_EQ(verified.error().kind, StoreError::Kind::damaged);
}

}  // namespace
}  // namespace signalbox::test
