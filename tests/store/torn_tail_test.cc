// The incomplete rest of an append that a crash interrupted is cut off and reported, and the log is
// served on. Damage that only resembles it isn't cut off.
#include <gtest/gtest.h>

#include "store/wal_file.h"
#include "tests/fixtures/file_content.h"
#include "tests/fixtures/temporary_directory.h"
#include "tests/store/log_directory.h"
#include "tests/store/sample_events.h"

namespace signalbox::test {
namespace {

// Copies of a running log of `commits` commits, of which the anchor covers the first `anchored`.
class TornTail : public testing::Test {
 protected:
  void crash(int anchored, int commits) {
    const TemporaryDirectory live;
    { append_commits(*open_log(live.path()), anchored); }
    auto log = open_log(live.path());
    const std::string anchor = content_of(live / "anchor");
    append_commits(*log, commits - anchored);
    copy_directory(live.path(), crashed_.path());
    write_text(crashed_ / "anchor", anchor);  // however long the appends took
    const auto files = database_files(crashed_.path(), ".log");
    wal_ = files.back();
    bytes_ = content_of(wal_);
  }

  Stored<std::unique_ptr<RocksEventLog>> open_with(const std::string& wal) {
    copy_directory(crashed_.path(), opened_.path());
    write_text(opened_.path() / "log" / wal_.filename(), wal);
    return RocksEventLog::open(opened_.path(), {});
  }

  TemporaryDirectory crashed_;
  TemporaryDirectory opened_;
  std::filesystem::path wal_;
  std::string bytes_;
};

TEST_F(TornTail, IsCutWhereverItIsTorn) {  // P2
  crash(1, 4);
  ASSERT_GT(bytes_.size(), 1000U);
  Position tail_before = 12;
  for (std::size_t cut = 1; cut <= bytes_.size(); cut += cut < 16 ? 1 : 41) {
    const auto log = open_with(bytes_.substr(0, bytes_.size() - cut));
    ASSERT_TRUE(log) << cut << ": " << log.error().message;
    const Position tail = (*log)->tail();
    EXPECT_EQ(tail % 3, 0U) << "half a commit";
    EXPECT_LT(tail, 12U);
    EXPECT_LE(tail, tail_before);
    EXPECT_GE(tail, 3U);
    tail_before = tail;
    EXPECT_EQ(*all_records(**log), sample_commit(1, tail)) << cut;
    // Served on.
    append_commits(**log, 1);
    EXPECT_EQ((*log)->tail(), tail + 3);
  }
  EXPECT_EQ(tail_before, 3U);
}

TEST_F(TornTail, IsReported) {
  crash(0, 2);
  const auto report_of = [this](const std::string& wal) { return (*open_with(wal))->report(); };
  EXPECT_EQ(report_of(bytes_).tail, 6U);
  EXPECT_EQ(report_of(bytes_).torn_bytes, 0U);
  const OpenReport torn = report_of(bytes_.substr(0, bytes_.size() - 1));
  EXPECT_EQ(torn.tail, 3U);
  EXPECT_GT(torn.torn_bytes, 100U);
  const OpenReport begun = report_of(bytes_ + "abc");
  EXPECT_EQ(begun.tail, 6U);
  EXPECT_EQ(begun.torn_bytes, 3U);
}

TEST_F(TornTail, TakesNothingThatTheAnchorKnows) {
  crash(1, 3);
  const auto log = open_with("");
  ASSERT_TRUE(log) << log.error().message;
  EXPECT_EQ((*log)->tail(), 3U);
}

// Without an anchor, only the commits behind a bad byte show that it isn't a torn tail.
TEST_F(TornTail, IsNotAFlippedByteWithCommitsBehindIt) {
  crash(0, 4);
  // The beginning of the last commit: the shortest cut that leaves only whole commits.
  std::size_t last_begin = bytes_.size() - 1;
  for (const TemporaryDirectory cut;; --last_begin) {
    write_text(cut / "000001.log", bytes_.substr(0, last_begin));
    if (inspect_wal_files(cut.path())->bytes == 0) break;
  }
  for (std::size_t i = 0; i < last_begin; i += 29) {
    std::string flipped = bytes_;
    flipped[i] = static_cast<char>(flipped[i] ^ 0x10);
    const auto log = open_with(flipped);
    ASSERT_FALSE(log) << "byte " << i << " of " << last_begin;
    EXPECT_EQ(log.error().kind, StoreError::Kind::damaged);
    EXPECT_NE(log.error().file.find(wal_.filename().string()), std::string::npos);
  }
}

}  // namespace
}  // namespace signalbox::test
