// An append when the disk fails: no space or an I/O error, at any of its operations.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>
#include <vector>

#include "store/purge_watch.h"
#include "tests/eventually.h"
#include "tests/fixtures/temporary_directory.h"
#include "tests/store/faulty_disk.h"
#include "tests/store/log_directory.h"
#include "tests/store/redacted_log.h"
#include "tests/store/sample_events.h"

namespace signalbox::test {
namespace {

class DiskFailure : public testing::TestWithParam<WriteFault> {
 protected:
  std::unique_ptr<RocksEventLog> open() { return open_log(data_.path(), {.env = disk_.env()}); }

  AppendResult append(EventLog& log) {
    const Commit commit = sample_commit(log.tail() + 1, 3);
    return log.append(log.tail(), {&commit, 1});
  }

  // Appends until the log tries its disk again.
  AppendResult append_once_writable(EventLog& log) {
    for (;;) {
      AppendResult result = append(log);
      if (result.status != AppendStatus::full) return result;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }

  TemporaryDirectory data_;
  FaultyDisk disk_;
};

INSTANTIATE_TEST_SUITE_P(Faults, DiskFailure,
                         testing::Values(WriteFault::append_fails, WriteFault::append_is_cut_short,
                                         WriteFault::sync_fails));

TEST(PurgeWatch, EndsARewritingForEitherOfTwo) {  // P7
  for (const bool by_caller : {true, false}) {
    std::atomic<bool> canceled = false;
    std::atomic<bool> wanted = false;
    PurgeWatch watch(&canceled, wanted);
    EXPECT_FALSE(*watch.ended());
    (by_caller ? canceled : wanted) = true;
    EXPECT_TRUE(eventually([&] { return watch.ended()->load(); }));
    EXPECT_EQ(canceled, by_caller) << "the caller's own flag isn't touched";
  }
}

// The log is closed and opened again while a walk over all of it is under way: the append waits for
// one entry of the walk and not for its end, and the walk goes on.
TEST_P(DiskFailure, WithoutSpaceAnAppendWaitsForNoWalk) {  // P7, G6
  constexpr std::size_t commits_count = 2000;
  constexpr Position last = 3 * commits_count;
  auto log = open();
  std::vector<Commit> commits;
  for (std::size_t index = 0; index < commits_count; ++index) {
    commits.push_back(sample_commit(3 * index + 1, 3));
  }
  ASSERT_EQ(log->append(0, commits).status, AppendStatus::ok);
  disk_.fault = GetParam();
  std::promise<void> begun;
  const std::future<void> has_begun = begun.get_future();
  std::atomic<bool> appended = false;
  std::thread appending([&] {
    has_begun.wait();
    EXPECT_EQ(append(*log).status, AppendStatus::full);
    appended = true;
  });
  Position next = 1;
  bool was_appended = false;
  const auto walked = log->scan(1, last, [&](Record&& record) {
    EXPECT_EQ(record.position, next++);
    if (record.position == 1) begun.set_value();
    // Long enough for the append on any machine; a walk that it waited for would end first.
    if (!appended) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    was_appended = appended;
    return true;
  });
  appending.join();
  ASSERT_TRUE(walked) << walked.error().message;
  EXPECT_EQ(*walked, last);
  EXPECT_TRUE(was_appended);
}

TEST_P(DiskFailure, WithoutSpaceLeavesTheLogReadableAndWritesOnceThereIsSome) {
  auto log = open();
  append_commits(*log, 2);
  disk_.fault = GetParam();
  EXPECT_EQ(append(*log).status, AppendStatus::full);
  EXPECT_EQ(log->tail(), 6U);
  EXPECT_EQ(*all_records(*log), sample_commit(1, 6));
  EXPECT_EQ(log->read_commit(4)->size(), 3U);
  EXPECT_EQ(append(*log).status, AppendStatus::full);

  disk_.fault = WriteFault::none;
  EXPECT_EQ(append_once_writable(*log).status, AppendStatus::ok);
  EXPECT_EQ(log->tail(), 9U);
  EXPECT_EQ(*all_records(*log), sample_commit(1, 9));
  append_commits(*log, 2);
  ASSERT_TRUE(log->close());
  EXPECT_EQ(*all_records(*open()), sample_commit(1, 15));
}

// The command was answered that nothing was written, so nothing of it may reappear, neither in this
// process nor after a restart.
TEST_P(DiskFailure, WithoutSpaceLeavesNothingThatSurfacesLater) {
  auto log = open();
  append_commits(*log, 2);
  disk_.fault = GetParam();
  EXPECT_EQ(append(*log).status, AppendStatus::full);
  const TemporaryDirectory crashed;
  copy_directory(data_.path(), crashed.path());
  const auto recovered = open_log(crashed.path());
  EXPECT_EQ(*all_records(*recovered), sample_commit(1, 6));
  append_commits(*recovered, 1);
  EXPECT_EQ(*all_records(*recovered), sample_commit(1, 9));
}

// As under a quota: there is always some, and never enough.
TEST_P(DiskFailure, WithoutSpaceIsDoubtedForLongerEachTime) {  // K11
  auto log =
      open_log(data_.path(), {.env = disk_.env(), .full_pause = std::chrono::milliseconds(200)});
  append_commits(*log, 1);
  EXPECT_EQ(log->full_for().count(), 0);
  for (const int doubted_ms : {400, 800, 1600}) {
    disk_.fault = GetParam();
    const auto begun = std::chrono::steady_clock::now();
    EXPECT_EQ(append(*log).status, AppendStatus::full);
    const std::chrono::milliseconds left = log->full_for();
    const std::chrono::milliseconds doubted(doubted_ms);
    EXPECT_LE(left, doubted);
    EXPECT_GE(left + (std::chrono::steady_clock::now() - begun), doubted);
    disk_.fault = WriteFault::none;
    EXPECT_EQ(append_once_writable(*log).status, AppendStatus::ok);
  }
  EXPECT_TRUE(eventually([&] { return log->full_for().count() == 0; }));
}

// A rewriting that found no space stops RocksDB's own work, and with it the writes that fill all
// buffers before a flush fails as well.
TEST_P(DiskFailure, WithoutSpaceForARewritingAppendsGoOnOnceThereIsSome) {  // K11
  auto log = open_log(
      data_.path(),
      {.env = disk_.env(), .buffer_bytes = 4096, .full_pause = std::chrono::milliseconds(1)});
  append_secret(*log);
  ASSERT_EQ(redact_secret(*log).status, AppendStatus::ok);
  const Erasure erasure = log->plan_erasure().value();
  ASSERT_TRUE(log->begin_erasure());
  ASSERT_TRUE(log->plan_erasure());  // what is in memory is in tables now
  disk_.fault = GetParam();
  EXPECT_EQ(log->purge_replaced(erasure).error().kind, StoreError::Kind::full);
  disk_.fault = WriteFault::none;
  for (int each = 0; each < 20; ++each) {
    const Commit commit = sample_commit(log->tail() + 1, 200);  // more than a buffer
    AppendResult result;
    do {
      result = log->append(log->tail(), {&commit, 1});
    } while (result.status == AppendStatus::full);
    ASSERT_EQ(result.status, AppendStatus::ok) << result.message;
  }
  const auto purged = log->purge_replaced(erasure);
  EXPECT_TRUE(purged) << purged.error().message;
  ASSERT_TRUE(log->note_erased(erasure));
  ASSERT_TRUE(log->close());
  EXPECT_EQ(files_with_secret(data_.path()), "");
  log = open_log(data_.path());
  EXPECT_TRUE(log->verify(log->tail()));
}

TEST_P(DiskFailure, OfTheOtherKindLeavesTheOutcomeUnknown) {
  disk_.status = rocksdb::IOStatus::IOError("as the test wishes");
  auto log = open();
  append_commits(*log, 2);
  disk_.fault = GetParam();
  EXPECT_EQ(append(*log).status, AppendStatus::unknown);
  EXPECT_EQ(log->tail(), 6U);
  disk_.fault = WriteFault::none;
  const AppendResult later = append(*log);
  EXPECT_EQ(later.status, AppendStatus::unknown);
  EXPECT_NE(later.message.find("as the test wishes"), std::string::npos) << later.message;
  EXPECT_EQ(*all_records(*log), sample_commit(1, 6));
  log.reset();

  // The next opening finds out: it has all of the commit or nothing of it.
  const auto recovered = open();
  const Position tail = recovered->tail();
  EXPECT_TRUE(tail == 6 || tail == 9) << tail;
  EXPECT_EQ(*all_records(*recovered), sample_commit(1, tail));
}

}  // namespace
}  // namespace signalbox::test
