// A copy of a log that is made while somebody writes it: it is the log of one moment, row by row,
// and has no byte of what was replaced or dropped (BEHAVIOURS, chapter K).
#include "store/log_copy.h"

#include <gtest/gtest.h>

#include <sys/stat.h>

#include <atomic>
#include <optional>
#include <thread>

#include "domain/free_text.h"
#include "store/anchor.h"
#include "store/rocks_database.h"
#include "tests/eventually.h"
#include "tests/store/cell_replica.h"
#include "tests/store/faulty_disk.h"
#include "tests/store/redacted_log.h"

namespace signalbox::test {
namespace {

namespace fs = std::filesystem;

// Every row of the log's database, in order.
struct LogRows {
  std::vector<std::pair<std::string, std::string>> entries, values;

  friend bool operator==(const LogRows&, const LogRows&) = default;
};

LogRows rows_of(const fs::path& data) {
  LogRows rows;
  const auto database =
      RocksDatabase::open(data / "log", RocksDatabase::Mode::read_only, /*env=*/nullptr);
  EXPECT_TRUE(database) << database.error().message;
  if (!database) return rows;
  const auto entry = (*database)->entries((*database)->head()->leaves);
  for (entry->SeekToFirst(); entry->Valid(); entry->Next()) {
    rows.entries.emplace_back(entry->key().ToString(), entry->value().ToString());
  }
  EXPECT_TRUE((*database)->values("", "", [&](std::string_view key, std::string_view value) {
    rows.values.emplace_back(key, value);
    return true;
  }));
  return rows;
}

Digest copied_root(const MerkleFrontier& tree) {
  Sha256 sha256;
  return merkle_root(tree, sha256);
}

void expect_private(const fs::path& directory) {
  for (const auto& each : fs::recursive_directory_iterator(directory)) {
    struct stat status {};
    ASSERT_EQ(::lstat(each.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, each.is_directory() ? 0700U : 0600U) << each.path();
  }
}

class LogCopyTest : public testing::Test {
 protected:
  // Copies the log, and expects that to succeed.
  LogCopy copy() const {
    const auto copied = copy_log(data_.path(), to_.path());
    EXPECT_TRUE(copied) << copied.error().message;
    return copied.value_or(LogCopy{});
  }
  [[nodiscard]] StoreError failure() const {
    const auto copied = copy_log(data_.path(), to_.path());
    EXPECT_FALSE(copied);
    return copied ? StoreError{} : copied.error();
  }
  // Changes the closed log as somebody would who knows its format.
  void change(const std::function<void(const RocksDatabase&, rocksdb::WriteBatch&)>& changed) {
    auto database = RocksDatabase::open(data_ / "log", RocksDatabase::Mode::read_write, nullptr);
    ASSERT_TRUE(database) << database.error().message;
    rocksdb::WriteBatch batch = RocksDatabase::batch(0);
    changed(**database, batch);
    (*database)->touch_entries(batch);
    ASSERT_TRUE((*database)->write(batch).ok());
  }

  TemporaryDirectory data_;
  TemporaryDirectory to_;
};

TEST_F(LogCopyTest, HasEachRowAndGoesOn) {  // K7
  auto log = open_log(data_.path());
  append_commits(*log, 20);
  const LogCopy copied = copy();
  EXPECT_EQ(copied.position(), 60U);
  EXPECT_EQ(copied.frontier, log->frontier());
  EXPECT_GT(copied.bytes, 0U);
  EXPECT_EQ(rows_of(to_.path()), rows_of(data_.path()));
  const auto anchor = read_anchor(to_ / "anchor");
  ASSERT_TRUE(anchor);
  EXPECT_EQ(*anchor, (Anchor{60, copied_root(copied.frontier)}));
  expect_private(to_.path());
  EXPECT_FALSE(fs::exists(to_ / "loading"));
  // It is a log like any other: both go on alike, and are there after another start.
  for (int start = 0; start < 2; ++start) {
    auto other = open_log(to_.path());
    EXPECT_FALSE(other->report().erased_replaced);
    append_commits(*other, 5);
    append_commits(*log, 5);
    EXPECT_EQ(*all_records(*other), *all_records(*log));
    const auto verified = other->verify(other->tail());
    EXPECT_TRUE(verified) << verified.error().message;
  }
}

// Its writer fills tables, begins write-ahead logs and compacts all the time.
TEST_F(LogCopyTest, IsOfOneMomentWhileItIsWritten) {  // K7
  RocksEventLog::Options options;
  options.buffer_bytes = 1024 * 1024;
  auto log = open_log(data_.path(), std::move(options));
  std::atomic<bool> is_over = false;
  std::atomic<Position> appended = 0;
  std::thread writer([&] {
    while (!is_over) {
      std::vector<Commit> commits;
      for (Position first = log->tail() + 1; commits.size() < 50; first += 10) {
        commits.push_back(sample_commit(first, 10));
      }
      if (log->append(log->tail(), commits).status != AppendStatus::ok) break;
      appended = log->tail();
    }
  });
  Position before = 0;
  for (int count = 0; count < 3; ++count) {
    while (appended < before + 5'000 && !is_over) std::this_thread::yield();
    const Position at_least = appended;
    std::optional<TemporaryDirectory> to;
    LogCopyProgress latest;
    Stored<LogCopy> copied;
    // The log's files may change faster than they can be opened.
    EXPECT_TRUE(eventually([&] {
      to.emplace();
      latest = {};
      copied = copy_log(data_.path(), to->path(), /*env=*/nullptr,
                        [&latest](const LogCopyProgress& progress) {
                          EXPECT_GE(progress.done, latest.done);
                          EXPECT_LE(progress.done, progress.of);
                          if (progress.part == LogCopyProgress::Part::copying) {
                            EXPECT_GT(progress.bytes, latest.bytes);
                          }
                          latest = progress;
                        });
      return copied || copied.error().kind != StoreError::Kind::in_use;
    }));
    EXPECT_TRUE(copied) << copied.error().message;
    if (!copied) break;
    EXPECT_EQ(latest.part, LogCopyProgress::Part::checking);
    EXPECT_EQ(latest.done, copied->position());
    EXPECT_GE(copied->position(), at_least);
    const auto other = open_log(to->path());
    EXPECT_EQ(other->tail(), copied->position());
    MerkleFrontier tree;
    Sha256 sha256;
    EXPECT_TRUE(log->scan_frames(1, copied->position(), [&](const Frame& frame) {
      append_leaf(tree, leaf_hash(frame, sha256), sha256);
      return true;
    }));
    EXPECT_EQ(other->frontier(), tree);
    before = copied->position();
  }
  is_over = true;
  writer.join();
}

// The files of the log have what was dropped: they weren't rewritten yet.
TEST_F(LogCopyTest, HasWhatIsLeftAfterADrop) {  // K7
  auto log = open_log(data_.path());
  append_secret(*log);
  append_commits(*log, 100);
  const MerkleFrontier tree = log->frontier();
  append_commits(*log, 10);
  PreparedDrop drop = prepare_drop(*log, tree, {{100, 105}}, "the base");
  auto staged = log->stage_drop(drop.drop);
  ASSERT_TRUE(staged) << staged.error().message;
  while (*log->store_base_part(*staged)) continue;
  ASSERT_TRUE(log->commit_drop(log->tail(), drop.commit, *staged));
  EXPECT_NE(files_with_secret(data_.path()), "");
  const LogCopy copied = copy();
  EXPECT_EQ(rows_of(to_.path()), rows_of(data_.path()));
  EXPECT_EQ(files_with_secret(to_.path()), "");
  expect_private(to_.path());
  const auto other = open_log(to_.path());
  EXPECT_EQ(other->horizon().position, tree.leaves);
  EXPECT_EQ(other->horizon().kept, (std::vector<PositionRange>{{100, 105}}));
  EXPECT_EQ(*other->base(), "the base");
  EXPECT_EQ(other->frontier(), log->frontier());
  EXPECT_EQ(*records_after_horizon(*other), *records_after_horizon(*log));
  const auto verified = other->verify(copied.position());
  EXPECT_TRUE(verified) << verified.error().message;
}

// Its files have the replaced text: that is erased by who opens it for writing, or later.
TEST_F(LogCopyTest, HasNoTextThatWasReplacedAndErasesWhatIsDue) {  // K7
  auto log = open_log(data_.path());
  append_secret(*log);
  append_commits(*log, 3);
  ASSERT_EQ(redact_secret(*log).status, AppendStatus::ok);
  append_commits(*log, 3);
  EXPECT_NE(files_with_secret(data_.path()), "");
  (void)copy();
  EXPECT_EQ(rows_of(to_.path()), rows_of(data_.path()));
  EXPECT_EQ(files_with_secret(to_.path()), "");
  const auto other = open_log(to_.path());
  EXPECT_TRUE(other->report().erased_replaced) << "the mark of the erasure is there";
  EXPECT_EQ(*all_records(*other), *all_records(*log));
}

// What a server of a cell hasn't finished yet, the copy has to finish, too.
TEST_F(LogCopyTest, HasWhatIsDueInItsCell) {  // K7
  const auto chain = std::make_shared<MemoryChain>();
  CellReplica writer(chain);
  ASSERT_TRUE(writer.reader.create(first_link(*writer.replica), "secret"));
  writer.take();
  append_secret(*writer.log);
  writer.append();
  Record note = redaction_of_secret(writer.log->tail(), secret_position).note;
  const Event replacement = RunEvent(RunCanceled{std::string(blanked_text)});
  const auto staged = writer.log->stage_redaction(secret_position, replacement, Salt{});
  ASSERT_TRUE(staged) << staged.error().message;
  set_digests(note, staged->redacted);
  const auto redacted = writer.log->commit_redaction(writer.log->tail(), {note}, *staged);
  ASSERT_TRUE(redacted && redacted->status == AppendStatus::ok);
  CellReplica other(chain);
  other.follow();
  other.log.reset();
  other.replica.reset();
  for (CellReplica* source : {&writer, &other}) {
    const TemporaryDirectory to;
    const auto copied = copy_log(source->directory.path(), to.path());
    ASSERT_TRUE(copied) << copied.error().message;
    EXPECT_EQ(rows_of(to.path()), rows_of(source->directory.path()));
    const auto log = open_log(to.path());
    EXPECT_EQ(log->pending_redactions().due, (std::vector<Position>{note.position}));
    EXPECT_EQ(log->pending_redactions().latest, note.position);
    EXPECT_EQ(log->frontier(), writer.log->frontier());
    EXPECT_EQ(files_with_secret(to.path()), "");
  }
}

TEST_F(LogCopyTest, IsMadeOfNothingButALog) {  // K7
  EXPECT_EQ(failure().kind, StoreError::Kind::not_found);
  EXPECT_FALSE(fs::exists(data_ / "log"));
  { const auto log = open_log(data_.path()); }
  EXPECT_EQ(failure().kind, StoreError::Kind::not_found) << "it has no record";
}

TEST_F(LogCopyTest, IsNotMadeOfADamagedLog) {  // K7
  {
    auto log = open_log(data_.path());
    append_commits(*log, 10);
  }
  const Anchor anchor = **read_anchor(data_ / "anchor");
  const auto expect_damaged = [this](const std::string& why) {
    const StoreError error = failure();
    EXPECT_EQ(error.kind, StoreError::Kind::damaged) << error.message;
    EXPECT_NE(error.message.find(why), std::string::npos) << error.message;
    fs::remove_all(to_ / "log");
  };
  ASSERT_TRUE(write_anchor(data_ / "anchor", {anchor.position + 1, anchor.root}));
  expect_damaged("the anchor says 31");
  ASSERT_TRUE(write_anchor(data_ / "anchor", {anchor.position - 1, anchor.root}));
  expect_damaged("the anchor vouches for");
  ASSERT_TRUE(write_anchor(data_ / "anchor", anchor));
  change([](const RocksDatabase& database, rocksdb::WriteBatch& batch) {
    database.erase_entries(batch, 13, 14);
  });
  expect_damaged("record 13 is missing");
}

// Fails at the n-th operation of the copy's disk.
class CountedFiles final : public rocksdb::FileSystemWrapper {
 public:
  explicit CountedFiles(int fails_at)
      : FileSystemWrapper(rocksdb::FileSystem::Default()), left_(fails_at) {}
  const char* Name() const override { return "CountedFiles"; }
  [[nodiscard]] bool has_failed() const { return left_ <= 0; }

  rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* context) override {
    if (fails()) return rocksdb::IOStatus::NoSpace("as the test wishes");
    auto opened = FileSystemWrapper::NewWritableFile(name, options, file, context);
    if (opened.ok()) *file = std::make_unique<File>(std::move(*file), *this);
    return opened;
  }
  rocksdb::IOStatus LinkFile(const std::string& from, const std::string& to,
                             const rocksdb::IOOptions& options,
                             rocksdb::IODebugContext* context) override {
    if (fails()) return rocksdb::IOStatus::NoSpace("as the test wishes");
    return FileSystemWrapper::LinkFile(from, to, options, context);
  }

 private:
  class File final : public rocksdb::FSWritableFileOwnerWrapper {
   public:
    File(std::unique_ptr<rocksdb::FSWritableFile> file, CountedFiles& files)
        : FSWritableFileOwnerWrapper(std::move(file)), files_(files) {}
    using FSWritableFileOwnerWrapper::Append;
    rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                             rocksdb::IODebugContext* context) override {
      if (files_.fails()) return rocksdb::IOStatus::NoSpace("as the test wishes");
      return FSWritableFileOwnerWrapper::Append(data, options, context);
    }
    rocksdb::IOStatus Sync(const rocksdb::IOOptions& options,
                           rocksdb::IODebugContext* context) override {
      if (files_.fails()) return rocksdb::IOStatus::NoSpace("as the test wishes");
      return FSWritableFileOwnerWrapper::Sync(options, context);
    }

   private:
    CountedFiles& files_;
  };
  bool fails() { return --left_ <= 0; }

  std::atomic<int> left_;
};

TEST_F(LogCopyTest, FailsWithoutSpaceAtAnyOperation) {  // K7
  auto log = open_log(data_.path());
  append_commits(*log, 10);
  int failed = 0;
  for (bool is_over = false; !is_over; ++failed) {
    ASSERT_LT(failed, 200);
    const TemporaryDirectory to;
    const auto files = std::make_shared<CountedFiles>(failed + 1);
    const auto env = rocksdb::NewCompositeEnv(files);
    const auto copied = copy_log(data_.path(), to.path(), env.get());
    is_over = copied.has_value();
    EXPECT_TRUE(is_over || copied.error().kind == StoreError::Kind::full)
        << failed + 1 << ": " << copied.error().message;
    EXPECT_TRUE(!is_over || !files->has_failed());
    EXPECT_FALSE(fs::exists(to / "loading"));
  }
  EXPECT_GT(failed, 5);
  EXPECT_TRUE(log->verify(log->tail()));
}

}  // namespace
}  // namespace signalbox::test
