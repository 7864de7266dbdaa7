// Records dropped from the log on disk: what an opening finds, that the bytes are erased, and that
// changes of the base, the hashes and the kept records are detected.
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <map>
#include <thread>

#include "store/entry.h"
#include "store/rocks_database.h"
#include "tests/fixtures/file_content.h"
#include "tests/fixtures/temporary_directory.h"
#include "tests/store/log_directory.h"
#include "tests/store/sample_events.h"

namespace signalbox::test {
namespace {

constexpr const char* secret = "a goal that nobody finds any more";

class RocksLogDrop : public testing::Test {
 protected:
  // 200 commits of three records; the goal of the first 150 has the secret.
  void SetUp() override {
    auto log = open_log(data_.path());
    for (Position first = 1; first < 600; first += 3) {
      Commit commit = sample_commit(first, 3);
      RunStarted started;
      started.goal = (first <= 450 ? secret : "another") + std::to_string(first);
      commit[1].event = RunEvent(started);
      ASSERT_EQ(log->append(first - 1, {&commit, 1}).status, AppendStatus::ok);
      if (first == 448) tree_ = log->frontier();
    }
    whole_ = log->frontier();
  }

  // Drops the records up to 450, except for 100 … 105.
  void drop(RocksEventLog& log) {
    const PreparedDrop drop = prepare_drop(log, tree_, {{100, 105}}, "base");
    const auto dropped = log.drop(log.tail(), drop.commit, drop.drop);
    ASSERT_TRUE(dropped) << dropped.error().message;
  }

  [[nodiscard]] int files_with(const std::string& text) const {
    int files = 0;
    for (const auto& file : std::filesystem::recursive_directory_iterator(data_.path())) {
      if (!file.is_regular_file()) continue;
      files += content_of(file.path()).find(text) != std::string::npos ? 1 : 0;
    }
    return files;
  }

  // Changes the first value with this key prefix, as somebody who knows the format would.
  void change(const std::string& prefix,
              const std::function<std::string(std::string)>& changed) const {
    auto database = RocksDatabase::open(data_ / "log", RocksDatabase::Mode::read_write, nullptr);
    ASSERT_TRUE(database) << database.error().message;
    rocksdb::WriteBatch batch = RocksDatabase::batch(0);
    bool found = false;
    ASSERT_TRUE((*database)->values(prefix, prefix, [&](std::string_view key, auto value) {
      (*database)->put_value(batch, key, changed(std::string(value)));
      found = true;
      return false;
    }));
    ASSERT_TRUE(found);
    ASSERT_TRUE((*database)->write(batch).ok());
  }

  TemporaryDirectory data_;
  MerkleFrontier tree_;
  MerkleFrontier whole_;
};

TEST_F(RocksLogDrop, IsFoundByEveryOpening) {
  {
    auto log = open_log(data_.path());
    drop(*log);
    ASSERT_TRUE(log->close());
  }
  for (const bool read_only : {true, false, true}) {
    RocksEventLog::Options options;
    options.read_only = read_only;
    const auto log = open_log(data_.path(), std::move(options));
    EXPECT_EQ(log->tail(), 601U);
    EXPECT_EQ(log->horizon().position, 450U);
    EXPECT_TRUE(log->horizon().files_rewritten);
    EXPECT_EQ(log->report().records_verified, 151U);
    EXPECT_EQ(log->base().value(), "base");
    const auto verified = log->verify(log->tail());
    ASSERT_TRUE(verified) << verified.error().message;
    EXPECT_EQ(verified->leaves, 601U);
    EXPECT_EQ(log->verify(600).value(), whole_);
    EXPECT_EQ(log->verify(449).error().kind, StoreError::Kind::dropped);
    EXPECT_EQ(log->read(100, 6)->size(), 6U);
    EXPECT_FALSE(log->read(106, 1));
  }
}

// With a checkpoint from before the drop, the opening doesn't search for the dropped records.
TEST_F(RocksLogDrop, IsNotUndoneByAnOldCheckpoint) {
  MerkleFrontier early;
  {
    auto log = open_log(data_.path());
    early = log->verify(30).value();
    drop(*log);
  }
  RocksEventLog::Options options;
  options.verified = Checkpoint{30, early};
  EXPECT_EQ(open_log(data_.path(), std::move(options))->tail(), 601U);
}

// G2: a snapshot from before the horizon is of no use, so an opening needs the base.
TEST_F(RocksLogDrop, ADamagedBaseThatAnOldCheckpointNeedsIsRefusedBeforeAnythingIsWritten) {
  std::string base;  // of several parts: who only passes by reads the first and the last one
  for (int part = 0; base.size() < 5'000'000; ++part) base += std::to_string(part);
  const std::string middle = "the middle, of which somebody changes a bit";
  base.insert(2'500'000, middle);
  MerkleFrontier early;
  {
    auto log = open_log(data_.path());
    early = log->verify(30).value();
    const PreparedDrop all = prepare_drop(*log, tree_, {}, base);
    ASSERT_TRUE(log->drop(600, all.commit, all.drop));
    ASSERT_TRUE(log->close());
  }
  int damaged = 0;
  for (const auto& file : database_files(data_.path(), ".sst")) {
    std::string bytes = content_of(file);
    const std::size_t at = bytes.find(middle);
    if (at == std::string::npos) continue;
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    write_text(file, bytes);
    ++damaged;
  }
  ASSERT_EQ(damaged, 1);
  std::map<std::filesystem::path, std::string> before;
  for (const auto& file : database_files(data_.path(), "")) before[file] = content_of(file);
  RocksEventLog::Options options;
  options.verified = Checkpoint{30, early};
  const auto opened = RocksEventLog::open(data_.path(), std::move(options));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind, StoreError::Kind::damaged) << opened.error().message;
  for (const auto& [file, bytes] : before) {
    if (file.filename().string().starts_with("LOG")) continue;  // what RocksDB tells of itself
    EXPECT_TRUE(std::filesystem::exists(file) && content_of(file) == bytes) << file;
  }
}

// G2: the note that the files were rewritten has no records, so it doesn't say where the log ends.
TEST_F(RocksLogDrop, ADamagedBatchBehindItsNotesIsNotCutOff) {
  const TemporaryDirectory killed;
  {
    auto log = open_log(data_.path());
    drop(*log);
    append_commits(*log, 1);
    ASSERT_TRUE(log->close());
    copy_directory(data_.path(), killed.path());
  }
  const std::filesystem::path wal = database_files(killed.path(), ".log").back();
  std::string bytes = content_of(wal);
  ASSERT_GT(bytes.size(), 100U);
  bytes[bytes.size() - 40] = static_cast<char>(bytes[bytes.size() - 40] ^ 1);
  write_text(wal, bytes);
  const auto opened = RocksEventLog::open(killed.path(), {});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind, StoreError::Kind::damaged) << opened.error().message;
  EXPECT_NE(opened.error().message.find("Nothing was changed"), std::string::npos)
      << opened.error().message;
  EXPECT_TRUE(content_of(wal) == bytes);
}

TEST_F(RocksLogDrop, LeavesNoByteOfIt) {
  EXPECT_GT(files_with(secret), 0);
  {
    auto log = open_log(data_.path());
    const PreparedDrop all = prepare_drop(*log, tree_, {}, "base");
    ASSERT_TRUE(log->drop(600, all.commit, all.drop));
    ASSERT_TRUE(log->horizon().files_rewritten);
    EXPECT_EQ(files_with(secret), 0);
  }
  EXPECT_EQ(files_with(secret), 0);
}

// The base is larger than one part of it, and than a batch should be.
TEST_F(RocksLogDrop, KeepsALargeBase) {
  std::string base;
  for (int part = 0; base.size() < 5'000'000; ++part) base += std::to_string(part);
  {
    auto log = open_log(data_.path());
    const PreparedDrop large = prepare_drop(*log, tree_, {}, base);
    ASSERT_TRUE(log->drop(600, large.commit, large.drop));
    EXPECT_EQ(log->base().value(), base);
  }
  EXPECT_EQ(open_log(data_.path())->base().value(), base);
}

// After a crash between the batch and the rewriting of the files, the next opening rewrites them.
TEST_F(RocksLogDrop, IsFinishedByTheNextOpening) {
  {
    auto log = open_log(data_.path());
    const PreparedDrop all = prepare_drop(*log, tree_, {}, "base");
    ASSERT_TRUE(log->drop(600, all.commit, all.drop));
    ASSERT_TRUE(log->close());
  }
  change("horizon", [](const std::string& bytes) {
    Horizon horizon = decode_horizon(bytes).value();
    horizon.files_rewritten = false;
    return encode_horizon(horizon);
  });
  // Also adds an unreferenced base, as a drop leaves it that crashed before its batch.
  {
    auto database = RocksDatabase::open(data_ / "log", RocksDatabase::Mode::read_write, nullptr);
    ASSERT_TRUE(database);
    rocksdb::WriteBatch batch = RocksDatabase::batch(0);
    (*database)->put_value(batch, "base/" + entry_key(700) + entry_key(0), "a stray base");
    ASSERT_TRUE((*database)->write(batch).ok());
  }
  {
    const auto log = open_log(data_.path());
    EXPECT_TRUE(log->horizon().files_rewritten);
    EXPECT_EQ(log->base().value(), "base");
  }
  auto database = RocksDatabase::open(data_ / "log", RocksDatabase::Mode::read_only, nullptr);
  ASSERT_TRUE(database);
  int bases = 0;
  ASSERT_TRUE((*database)->values("base/", "base/", [&bases](auto, auto) { return ++bases > 0; }));
  EXPECT_EQ(bases, 1);
}

TEST_F(RocksLogDrop, IsHeldAgainstItsEvent) {
  {
    auto log = open_log(data_.path());
    drop(*log);
  }
  change("horizon", [](const std::string& bytes) {
    Horizon horizon = decode_horizon(bytes).value();
    horizon.base_sha256 = sha256("another base");
    return encode_horizon(horizon);
  });
  const auto log = RocksEventLog::open(data_.path(), {});
  ASSERT_FALSE(log);
  EXPECT_EQ(log.error().kind, StoreError::Kind::damaged);
  EXPECT_NE(log.error().message.find("HistoryDropped"), std::string::npos) << log.error().message;
}

TEST_F(RocksLogDrop, ShowsAChangedBase) {
  {
    auto log = open_log(data_.path());
    drop(*log);
  }
  change("base/", [](const std::string&) { return std::string("esab"); });
  const auto log = open_log(data_.path());
  EXPECT_EQ(log->base().error().kind, StoreError::Kind::damaged);
  EXPECT_EQ(log->verify(log->tail()).error().kind, StoreError::Kind::damaged);
}

TEST_F(RocksLogDrop, ShowsAChangedHash) {
  {
    auto log = open_log(data_.path());
    drop(*log);
  }
  change("leaves/", [](std::string bytes) {
    bytes.back() = static_cast<char>(bytes.back() ^ 1);
    return bytes;
  });
  const auto log = open_log(data_.path());
  EXPECT_EQ(log->verify(log->tail()).error().kind, StoreError::Kind::damaged);
}

TEST_F(RocksLogDrop, ShowsAChangedRecordThatWasKept) {
  {
    auto log = open_log(data_.path());
    drop(*log);
  }
  {
    Sha256 hasher;
    MerkleFrontier ignored;
    std::string entry;
    Commit commit = sample_commit(100, 3);
    encode_entry(commit, secure_random(), hasher, ignored, entry);
    auto database = RocksDatabase::open(data_ / "log", RocksDatabase::Mode::read_write, nullptr);
    rocksdb::WriteBatch batch = RocksDatabase::batch(0);
    (*database)->put_entry(batch, 100, entry);
    ASSERT_TRUE((*database)->write(batch).ok());
  }
  const auto verified = open_log(data_.path())->verify(1000);
  ASSERT_FALSE(verified);
  EXPECT_EQ(verified.error().position, 100U) << verified.error().message;
}

TEST_F(RocksLogDrop, GivesTheTreesOfWhatWasDropped) {
  auto log = open_log(data_.path());
  drop(*log);
  MerkleFrontier tree;
  Sha256 sha256;
  ASSERT_TRUE(log->scan_groups([&](LeafGroup&& group) { append_group(tree, group, sha256); }));
  EXPECT_EQ(tree, tree_);
}

// In steps, with appends between them, and a walk that began before.
TEST_F(RocksLogDrop, GoesOnBesideAppendsAndWalks) {
  std::string base;
  for (int part = 0; base.size() < 2'500'000; ++part) base += std::to_string(part);
  Position next = 601;
  auto log = open_log(data_.path());
  const auto append = [&] {
    const Commit commit = sample_commit(next, 3);
    ASSERT_EQ(log->append(next - 1, {&commit, 1}).status, AppendStatus::ok);
    next += 3;
  };
  auto staged = log->stage_drop(prepare_drop(*log, tree_, {{100, 105}}, base).drop);
  ASSERT_TRUE(staged) << staged.error().message;
  append();
  int parts = 0;
  for (bool more = true; more; append()) {
    const auto stored = log->store_base_part(*staged);
    ASSERT_TRUE(stored) << stored.error().message;
    more = *stored;
    ++parts;
  }
  EXPECT_EQ(parts, 3);
  EXPECT_EQ(log->horizon().position, 0U);

  Position walked = 0;
  const auto whole = log->scan(1, 600, [&](Record&& record) {
    if (record.position == 50) {
      std::thread([&] {
        const PreparedDrop now = prepare_drop(*log, tree_, {{100, 105}}, base);
        const auto dropped = log->commit_drop(log->tail(), now.commit, *staged);
        ASSERT_TRUE(dropped) << dropped.error().message;
        EXPECT_EQ(dropped->status, AppendStatus::ok);
      }).join();
      ++next;
    }
    walked = record.position;
    return true;
  });
  ASSERT_TRUE(whole) << whole.error().message;
  EXPECT_EQ(walked, 600U);
  EXPECT_EQ(log->scan(1, 600, [](Record&&) { return true; }).error().kind,
            StoreError::Kind::dropped);

  ASSERT_TRUE(log->purge_dropped());
  EXPECT_FALSE(log->horizon().files_rewritten);
  append();
  ASSERT_TRUE(log->note_purged());
  EXPECT_TRUE(log->horizon().files_rewritten);
  EXPECT_EQ(files_with(secret + std::to_string(4)), 0);
  append();
  EXPECT_EQ(log->base().value(), base);
  ASSERT_TRUE(log->close());
  log = open_log(data_.path());
  EXPECT_EQ(log->tail(), next - 1);
  EXPECT_EQ(log->base().value(), base);
  EXPECT_TRUE(log->verify(log->tail()));
}

// Of a drop that is given up the next one leaves nothing, nor does the next opening.
TEST_F(RocksLogDrop, IsGivenUpWithoutATrace) {
  const auto bases = [&] {
    auto database = RocksDatabase::open(data_ / "log", RocksDatabase::Mode::read_only, nullptr);
    int found = 0;
    EXPECT_TRUE((*database)->values("base/", "base/", [&](auto, auto) { return ++found > 0; }));
    return found;
  };
  const std::string large(3'000'000, 'x');
  {
    auto log = open_log(data_.path());
    auto given_up = log->stage_drop(prepare_drop(*log, tree_, {}, large).drop);
    ASSERT_TRUE(given_up);
    ASSERT_TRUE(log->store_base_part(*given_up).value());
    ASSERT_TRUE(log->store_base_part(*given_up).value());
    drop(*log);
    EXPECT_EQ(log->base().value(), "base");
    given_up = log->stage_drop({450, {{100, 105}}, large});
    ASSERT_TRUE(given_up);
    ASSERT_TRUE(log->store_base_part(*given_up).value());
    ASSERT_TRUE(log->close());
  }
  EXPECT_EQ(bases(), 2);
  EXPECT_EQ(open_log(data_.path())->base().value(), "base");
  EXPECT_EQ(bases(), 1);
}

}  // namespace
}  // namespace signalbox::test
