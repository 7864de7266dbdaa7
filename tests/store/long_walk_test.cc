// Scans that are long enough for read-ahead on a second thread: they return the same records and
// errors as short ones.
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "store/entry.h"
#include "store/rocks_database.h"
#include "store/rocks_event_log.h"
#include "tests/fixtures/temporary_directory.h"
#include "tests/store/log_directory.h"
#include "tests/store/sample_events.h"

namespace signalbox::test {
namespace {

constexpr std::size_t commits_count = 6000;
constexpr Position log_end = 3 * commits_count;

// Returns how many bytes this process has read from files, cached by the system or not.
std::uint64_t bytes_read() {
  std::ifstream counters("/proc/self/io");
  std::string name;
  std::uint64_t bytes = 0;
  EXPECT_TRUE(counters >> name >> bytes);
  EXPECT_EQ(name, "rchar:");
  return bytes;
}

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
    return open_log(data_.path(), {.verified = Checkpoint{log_end, frontier_}});
  }

  // Scans, and expects each record to be the next one.
  static Stored<Position> scan(const EventLog& log, Position from, Position to,
                               Position stop_after = log_end) {
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
  EXPECT_EQ(log->report().records_verified, log_end);
  EXPECT_EQ(*scan(*log, 1, log_end), log_end);
  EXPECT_EQ(*scan(*log, 2, log_end + 100), log_end);
  const auto verified = log->verify(log_end);
  ASSERT_TRUE(verified) << verified.error().message;
  EXPECT_EQ(*verified, frontier_);
}

// Whoever reads the records of a run reads each by itself.
TEST_F(LongWalk, ReadsLittleForASingleRecord) {
  const auto log = open_unread();
  constexpr Position step = log_end / 100;
  const std::uint64_t before = bytes_read();
  for (Position position = 1; position <= log_end; position += step) {
    const auto records = log->read(position, 1);
    ASSERT_TRUE(records) << records.error().message;
    EXPECT_EQ(records->front().position, position);
  }
  EXPECT_LT((bytes_read() - before) / 100, 128U * 1024U);
}

TEST_F(LongWalk, EndsWhereItIsToldTo) {
  const auto log = open_unread();
  for (const Position to :
       {log_end - 1, log_end - 2, log_end - 3, log_end - 4, log_end / 2, log_end / 2 + 1}) {
    EXPECT_EQ(*scan(*log, 1, to), to);
    EXPECT_EQ(*scan(*log, 1, log_end, to), to);
  }
}

TEST_F(LongWalk, FindsWhatIsMissing) {  // P5
  const Position first = log_end - 3 * 100 + 1;
  put(sample_commit(first, 3), entry_of(sample_commit(first, 2)));
  const auto log = open_unread();
  // The last of these scans ends at the missing record itself.
  for (const Position to : {log_end, first + 3, first + 2}) {
    const auto scanned = scan(*log, 1, to);
    ASSERT_FALSE(scanned) << to;
    EXPECT_EQ(scanned.error().kind, StoreError::Kind::damaged);
    EXPECT_EQ(scanned.error().position, first + 2);
  }
  EXPECT_EQ(*scan(*log, 1, first + 1), first + 1);
  EXPECT_FALSE(log->verify(log_end));
}

TEST_F(LongWalk, FindsAChangedRecord) {  // P5
  const Position first = log_end - 3 * 100 + 1;
  std::string entry = entry_of(sample_commit(first, 3));
  entry.back() = static_cast<char>(entry.back() ^ 1);
  put(sample_commit(first, 3), entry);
  const auto scanned = scan(*open_unread(), 1, log_end);
  ASSERT_FALSE(scanned);
  EXPECT_EQ(scanned.error().kind, StoreError::Kind::damaged);
  EXPECT_EQ(scanned.error().position, first + 2);
}

}  // namespace
}  // namespace signalbox::test
