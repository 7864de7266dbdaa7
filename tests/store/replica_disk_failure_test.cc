// A replica whose disk fails when it is synced, closed or rid of a redacted text: no space or an
// I/O error (BEHAVIOURS, chapter K).
#include <gtest/gtest.h>

#include <memory>

#include "store/anchor.h"
#include "tests/eventually.h"
#include "tests/store/cell_replica.h"
#include "tests/store/redacted_log.h"

namespace signalbox::test {
namespace {

class ReplicaDiskFailure : public testing::Test {
 protected:
  ReplicaDiskFailure() {
    EXPECT_TRUE(first_.reader.create(first_link(*first_.replica), "secret"));
    first_.take();
    first_.append();
    second_.follow();  // the first append is synced, and noted in the anchor
    first_.append();
    second_.follow();
    EXPECT_LT(second_.replica->synced(), second_.replica->tail());
  }

  [[nodiscard]] Position anchored() const {
    return read_anchor(second_.directory.path() / "anchor").value()->position;
  }

  const std::shared_ptr<MemoryChain> chain_ = std::make_shared<MemoryChain>();
  CellReplica first_{chain_};
  CellReplica second_{chain_};
};

TEST_F(ReplicaDiskFailure, WithoutSpaceForTheLastSyncTheLogIsClosed) {  // K11
  second_.disk.fault = WriteFault::sync_fails;
  const auto closed = second_.replica->close();
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().kind, StoreError::Kind::full);
  EXPECT_EQ(anchored(), second_.replica->synced());
  second_.disk.fault = WriteFault::none;
  second_.restart();
  second_.follow();
  EXPECT_EQ(second_.log->frontier(), first_.log->frontier());
}

TEST_F(ReplicaDiskFailure, AfterASyncThatFailedTheAnchorClaimsNoMore) {  // K11
  second_.disk.status = rocksdb::IOStatus::IOError("as the test wishes");
  second_.disk.fault = WriteFault::sync_fails;
  EXPECT_EQ(second_.log->sync().error().kind, StoreError::Kind::io);
  // The disk has forgotten what it couldn't write: a later sync that succeeds proves nothing.
  second_.disk.fault = WriteFault::none;
  const auto closed = second_.replica->close();
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().kind, StoreError::Kind::io);
  EXPECT_EQ(anchored(), second_.replica->synced());
}

// No sync has failed, so the one of what is left of the files counts, and the log can be closed.
TEST_F(ReplicaDiskFailure, WithoutSpaceForAnAppendWhatWasBeforeIsMadeDurable) {  // K11
  const Position tail = second_.replica->tail();
  first_.append();
  second_.disk.fault = WriteFault::append_fails;
  const auto link = MemorySharedLog(chain_).read(tail, 1).value().front();
  EXPECT_EQ(second_.log->follow(link).error().kind, StoreError::Kind::full);
  EXPECT_EQ(second_.replica->synced(), tail);
  const auto closed = second_.replica->close();
  EXPECT_TRUE(closed) << closed.error().message;
  EXPECT_EQ(anchored(), tail);
}

// What a sync couldn't make durable is in the write-ahead log, as far as this process can read it.
TEST_F(ReplicaDiskFailure, OnceThereIsSpaceWhatWasNotSyncedIsMadeDurable) {  // K11
  const Position unsynced = second_.replica->tail();
  second_.disk.fault = WriteFault::sync_fails;
  EXPECT_EQ(second_.log->sync().error().kind, StoreError::Kind::full);
  EXPECT_LT(second_.replica->synced(), unsynced);
  second_.disk.fault = WriteFault::none;
  first_.append();
  const auto link = MemorySharedLog(chain_).read(unsynced, 1).value().front();
  Stored<FollowedLink> followed;
  ASSERT_TRUE(eventually([&] {
    followed = second_.log->follow(link);
    return followed || followed.error().kind != StoreError::Kind::full;
  }));
  ASSERT_TRUE(followed) << followed.error().message;
  EXPECT_GE(second_.replica->synced(), unsynced);
  EXPECT_FALSE(database_files(second_.directory.path(), ".sst").empty());
  ASSERT_TRUE(second_.replica->close());
  EXPECT_EQ(anchored(), first_.log->tail());
  second_.restart();
  EXPECT_EQ(second_.log->frontier(), first_.log->frontier());
}

class UnfinishedErasure : public testing::TestWithParam<WriteFault> {
 protected:
  UnfinishedErasure() {
    append_secret(*log_);
    append_commits(*log_, 1);
  }

  void expect_full() { EXPECT_EQ(log_->finish_erasure().error().kind, StoreError::Kind::full); }
  // Expects that the erasure is finished once there is space.
  void expect_finished() {
    disk_.fault = WriteFault::none;
    Stored<bool> finished;
    ASSERT_TRUE(eventually([&] {
      finished = log_->finish_erasure();
      return finished || finished.error().kind != StoreError::Kind::full;
    }));
    ASSERT_TRUE(finished) << finished.error().message;
    EXPECT_TRUE(*finished);
    EXPECT_EQ(files_with_secret(data_.path()), "");
    append_commits(*log_, 1);
    EXPECT_FALSE(log_->finish_erasure().value());
    ASSERT_TRUE(log_->close());
    EXPECT_TRUE(open_log(data_.path())->verify(log_->tail()));
  }

  TemporaryDirectory data_;
  FaultyDisk disk_;
  std::unique_ptr<RocksEventLog> log_ =
      open_log(data_.path(), {.env = disk_.env(), .full_pause = std::chrono::milliseconds(1)});
};

INSTANTIATE_TEST_SUITE_P(Faults, UnfinishedErasure,
                         testing::Values(WriteFault::append_fails, WriteFault::append_is_cut_short,
                                         WriteFault::sync_fails));

TEST_P(UnfinishedErasure, WaitsForSpaceThatAnAppendDidNotFind) {  // K11
  ASSERT_EQ(redact_secret(*log_).status, AppendStatus::ok);
  disk_.fault = GetParam();
  const Commit commit = sample_commit(log_->tail() + 1, 3);
  ASSERT_EQ(log_->append(log_->tail(), {&commit, 1}).status, AppendStatus::full);
  expect_full();
  expect_finished();
}

TEST_P(UnfinishedErasure, WaitsForSpaceThatItDoesNotFindItself) {  // K11
  ASSERT_EQ(redact_secret(*log_).status, AppendStatus::ok);
  disk_.fault = GetParam();
  expect_full();
  expect_full();
  expect_finished();
}

// The first write removes the base of the drop.
TEST_P(UnfinishedErasure, WaitsForSpaceAfterADropThatWasGivenUp) {  // K11
  const PreparedDrop prepared = prepare_drop(*log_, log_->frontier(), {{1, 3}}, "a base");
  auto given_up = log_->stage_drop(prepared.drop);
  ASSERT_TRUE(given_up) << given_up.error().message;
  ASSERT_FALSE(log_->store_base_part(*given_up).value());
  ASSERT_EQ(redact_secret(*log_).status, AppendStatus::ok);
  disk_.fault = GetParam();
  expect_full();
  expect_finished();
}

}  // namespace
}  // namespace signalbox::test
