// Scans that are long enough for read-ahead on a second thread: they return the same records and
// errors as short ones.
#include <gtest/gtest.h>

#include "store/entry.h"
#include "store/rocks_database.h"
#include "store/rocks_event_log.h"
#include "tests/fixtures/temporary_directory.h"
#include "tests/store/log_directory.h"
#include "tests/store/sample_events.h"

namespace signalbox::test {
namespace {

constexpr std::size_t commits_count = 6000;
constexpr Position last = 3 * commits_count;

class LongWalk : public testing::Test {
 protected:
  void SetUp() override {
    auto log = open_log(data_.path());
    std::vector<Commit> commits;
    std::size_t bytes = 0;
    for (std::size_t index = 0; index < commits_count; ++index) {
      commits.push_back(sample_commit(3 * index + 1, 3));
      bytes += entry_of(commits.back()).size();
    }
    ASSERT_GT(bytes, 1024U * 1024U) << "too short to be read ahead for long";
    ASSERT_EQ(log->append(0, commits).status, AppendStatus::ok);
    frontier_ = log->frontier();
    ASSERT_TRUE(log->close());
  }

  static std::string entry_of(const Commit& commit) {
    Sha256 hasher;
    MerkleFrontier ignored;
    std::string entry;
    encode_entry(commit, secure_random(), hasher, ignored, entry);
    return entry;
  }

  void put(const Commit& commit, const std::string& entry) {
    auto database = RocksDatabase::open(data_ / "log", RocksDatabase::Mode::read_write, nullptr);
    ASSERT_TRUE(database) << database.error().message;
    rocksdb::WriteBatch batch = RocksDatabase::batch(0);
    (*database)->put_entry(batch, commit.front().position, entry);
    ASSERT_TRUE((*database)->write(batch).ok());
  }

  // Opens the log without verifying its records.
  [[nodiscard]] std::unique_ptr<RocksEventLog> open_unread() const {
    return open_log(data_.path(), {.verified = Checkpoint{last, frontier_}});
  }

  // Scans, and expects each record to be the next one.
  static Stored<Position> scan(const EventLog& log, Position from, Position to,
                               Position stop_after = last) {
    Position next = from;
    return log.scan(from, to, [&](Record&& record) {
      EXPECT_EQ(record.position, next);
      return next++ < stop_after;
    });
  }

  TemporaryDirectory data_;
  MerkleFrontier frontier_;
};

TEST_F(LongWalk, GivesEveryRecordInOrder) {
  const auto log = open_log(data_.path());
  EXPECT_EQ(log->report().records_verified, last);
  EXPECT_EQ(*scan(*log, 1, last), last);
  EXPECT_EQ(*scan(*log, 2, last + 100), last);
  const auto verified = log->verify(last);
  ASSERT_TRUE(verified) << verified.error().message;
  EXPECT_EQ(*verified, frontier_);
}

TEST_F(LongWalk, EndsWhereItIsToldTo) {
  const auto log = open_unread();
  for (const Position to : {last - 1, last - 2, last - 3, last - 4, last / 2, last / 2 + 1}) {
    EXPECT_EQ(*scan(*log, 1, to), to);
    EXPECT_EQ(*scan(*log, 1, last, to), to);
  }
}

TEST_F(LongWalk, FindsWhatIsMissing) {  // P5
  const Position first = last - 3 * 100 + 1;
  put(sample_commit(first, 3), entry_of(sample_commit(first, 2)));
  const auto log = open_unread();
  // The last of these scans ends at the missing record itself.
  for (const Position to : {last, first + 3, first + 2}) {
    const auto scanned = scan(*log, 1, to);
    ASSERT_FALSE(scanned) << to;
    EXPECT_EQ(scanned.error().kind, StoreError::Kind::damaged);
    EXPECT_EQ(scanned.error().position, first + 2);
  }
  EXPECT_EQ(*scan(*log, 1, first + 1), first + 1);
  EXPECT_FALSE(log->verify(last));
}

TEST_F(LongWalk, FindsAChangedRecord) {  // P5
  const Position first = last - 3 * 100 + 1;
  std::string entry = entry_of(sample_commit(first, 3));
  entry.back() = static_cast<char>(entry.back() ^ 1);
  put(sample_commit(first, 3), entry);
  const auto scanned = scan(*open_unread(), 1, last);
  ASSERT_FALSE(scanned);
  EXPECT_EQ(scanned.error().kind, StoreError::Kind::damaged);
  EXPECT_EQ(scanned.error().position, first + 2);
}

}  // namespace
}  // namespace signalbox::test
