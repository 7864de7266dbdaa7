// Redacted payloads: the Merkle tree is unchanged, the bytes are erased, and the PayloadRedacted
// event authenticates the replacement.
#include "store/redaction.h"

#include <gtest/gtest.h>

#include <functional>

#include "domain/free_text.h"
#include "domain/limits.h"
#include "store/memory_event_log.h"
#include "store/merkle_tree.h"
#include "store/rocks_database.h"
#include "tests/fixtures/temporary_directory.h"
#include "tests/store/decoded_record.h"
#include "tests/store/hexadecimal.h"
#include "tests/store/log_directory.h"
#include "tests/store/redacted_log.h"
#include "tests/store/sample_events.h"

namespace signalbox::test {
namespace {

Salt salt_of(int byte) {
  Salt salt;
  salt.fill(static_cast<std::byte>(byte));
  return salt;
}

Frame parsed(const std::string& bytes) {
  const auto frame = parse_frame(bytes);
  EXPECT_TRUE(frame) << frame.error().message;
  return frame ? *frame : Frame{};
}

TEST(RedactedFrame, KeepsHeaderAndLeaf) {
  Sha256 hashing;
  for (const Event& event : sample_events()) {
    const Record record = sample_record(7, event);
    std::string before;
    encode_record(record, salt_of(1), before);
    const Event replacement = without_free_texts(event, free_text_fields(event), Blank::telling);
    const auto entry = redact_entry(before, 7, 7, replacement, salt_of(2));
    ASSERT_TRUE(entry) << entry.error().message;
    const Frame was = parsed(before);
    const Frame is = parsed(entry->bytes);
    EXPECT_FALSE(was.redacted());
    EXPECT_TRUE(is.redacted());
    EXPECT_EQ(was.header, is.header);
    EXPECT_EQ(leaf_hash(was, hashing), leaf_hash(is, hashing));
    EXPECT_EQ(entry->payload_digest, payload_digest(was, hashing));
    std::size_t consumed = 0;
    const auto decoded = decode_record(entry->bytes, consumed);
    ASSERT_TRUE(decoded) << decoded.error().message;
    Record expected = record;
    expected.event = replacement;
    expected.redacted = true;
    EXPECT_EQ(*decoded, expected);
  }
}

TEST(RedactedFrame, KeepsItsBytesForEver) {
  Record record;
  record.position = 258;
  record.stream = Stream::access();
  record.event = RunEvent(RunCanceled{"why"});
  std::string before;
  encode_record(record, salt_of(9), before);
  const auto entry =
      redact_entry(before, 258, 258, RunEvent(RunCanceled{"[redacted]"}), salt_of(8));
  ASSERT_TRUE(entry);
  EXPECT_EQ(
      to_hexadecimal(entry->bytes),
      "98fcab4860000080010009cd00010002010000000000000000000000000000e26aafbac287ae3998e51b234781"
      "d52023332db959f901f511882fa44e9a5017010008080808080808080808080808080808010a0000005b72656"
      "461637465645d");
}

TEST(RedactedFrame, CanBeRedactedAgain) {
  Sha256 hashing;
  std::string before;
  const Frame was =
      encode_record(sample_record(7, RunEvent(RunCanceled{"why"})), salt_of(1), before);
  const Digest leaf = leaf_hash(was, hashing);
  const auto once = redact_entry(before, 7, 7, RunEvent(RunCanceled{"because"}), salt_of(2));
  const auto twice =
      redact_entry(once->bytes, 7, 7, RunEvent(RunCanceled{"[redacted]"}), salt_of(3));
  EXPECT_EQ(leaf, leaf_hash(parsed(twice->bytes), hashing));
  EXPECT_EQ(once->payload_digest, twice->payload_digest);
  EXPECT_EQ(twice->bytes.find("because"), std::string::npos);
}

// What says so is allowed to be longer than the payload was, by a bound that reading knows as well.
TEST(RedactedFrame, IsNeverLongerThanItsLimit) {
  std::string before;
  const Record record = sample_record(7, RunEvent(RunCanceled{"why"}));
  const std::string header(encode_record(record, salt_of(1), before).header);
  const auto replacement_with = [](std::size_t bytes) {
    return Event(RunEvent(RunCanceled{std::string(bytes, 'x')}));
  };
  // What the frame has beside them: checksum, length, and the digest of the payload.
  const std::size_t others = 64;
  const std::size_t bytes_max = limits::record_bytes_max + limits::redacted_growth_bytes_max -
                                others - header.size() -
                                replacement_of(replacement_with(0), salt_of(2)).size();
  EXPECT_FALSE(fits_as_replacement(parsed(before), replacement_with(bytes_max + 1)));
  ASSERT_TRUE(fits_as_replacement(parsed(before), replacement_with(bytes_max)));
  const auto entry = redact_entry(before, 7, 7, replacement_with(bytes_max), salt_of(2));
  ASSERT_TRUE(entry) << entry.error().message;
  EXPECT_GT(entry->bytes.size(), limits::record_bytes_max);
  EXPECT_TRUE(parsed(entry->bytes).redacted());
}

// Every truncation and every flipped bit of a redacted frame is detected.
TEST(RedactedFrame, FindsDamage) {
  std::string before;
  encode_record(sample_record(7, RunEvent(RunCanceled{"why"})), salt_of(1), before);
  const std::string bytes =
      redact_entry(before, 7, 7, RunEvent(RunCanceled{"[redacted]"}), salt_of(2))->bytes;
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    EXPECT_FALSE(parse_frame(bytes.substr(0, at))) << at;
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = bytes;
      changed[at] = static_cast<char>(changed[at] ^ (1 << bit));
      EXPECT_FALSE(parse_frame(changed)) << at;
    }
  }
}

// When a scan begins in the middle of a log, the ledger names the earlier records that have to be
// checked.
TEST(RedactionLedger, NamesWhatItWasToldAndDidntMeet) {
  RedactionLedger ledger;
  const auto announce = [&](Position position) {
    PayloadRedacted event;
    event.redacted_position = position;
    std::string bytes;
    ASSERT_TRUE(
        ledger.note(encode_record(sample_record(90, AccessEvent(event)), salt_of(1), bytes)));
  };
  const auto meet = [&](Position position) {
    const Record record = sample_record(position, RunEvent(RunCanceled{"why"}));
    std::string bytes;
    encode_record(record, salt_of(1), bytes);
    const auto entry =
        redact_entry(bytes, position, position, RunEvent(RunCanceled{"gone"}), salt_of(2));
    ASSERT_TRUE(ledger.note(parsed(entry->bytes)));
  };
  for (const Position position : {9, 7, 30}) announce(position);
  EXPECT_EQ(ledger.missing_before(7), std::vector<Position>{});
  EXPECT_EQ(ledger.missing_before(8), std::vector<Position>{7});
  EXPECT_EQ(ledger.missing_before(30), (std::vector<Position>{7, 9}));
  EXPECT_EQ(ledger.missing_before(31), (std::vector<Position>{7, 9, 30}));
  meet(7);
  meet(12);
  EXPECT_EQ(ledger.missing_before(31), (std::vector<Position>{9, 30}));
  ledger.forget(30);
  EXPECT_EQ(ledger.missing_before(31), std::vector<Position>{9});
}

class RedactedLog : public testing::Test {
 protected:
  void SetUp() override {
    auto log = open_log(data_.path());
    append_secret(*log);
    append_commits(*log, 3);
    root_ = root_at(*log, log->tail());
    ASSERT_EQ(redact_secret(*log).status, AppendStatus::ok);
    ASSERT_TRUE(log->erase_replaced());
    note_ = log->tail();
    ASSERT_TRUE(log->close());
  }

  Digest root_at(const RocksEventLog& log, Position position) {
    Sha256 hashing;
    const auto tree = log.verify(position);
    EXPECT_TRUE(tree) << tree.error().message;
    return tree ? merkle_root(*tree, hashing) : Digest{};
  }

  // Replaces the entry at `first` by the result of `change`.
  void change_entry(Position first, const std::function<std::string(std::string)>& change) {
    auto database = RocksDatabase::open(data_ / "log", RocksDatabase::Mode::read_write, nullptr);
    ASSERT_TRUE(database);
    const auto entry = (*database)->entry_of(first);
    ASSERT_TRUE(entry);
    rocksdb::WriteBatch batch = RocksDatabase::batch(0);
    (*database)->put_entry(batch, first, change(entry->bytes));
    ASSERT_TRUE((*database)->write(batch).ok());
  }

  StoreError failure_of_opening(RocksEventLog::Options options = {}) {
    const auto log = RocksEventLog::open(data_.path(), std::move(options));
    EXPECT_FALSE(log);
    return log ? StoreError{} : log.error();
  }

  TemporaryDirectory data_;
  Digest root_;
  Position note_ = 0;
};

TEST_F(RedactedLog, OpensWithTheSameTree) {
  for (const bool read_only : {true, false}) {
    auto log = RocksEventLog::open(data_.path(), {.read_only = read_only});
    ASSERT_TRUE(log) << log.error().message;
    EXPECT_EQ(root_at(**log, note_ - 1), root_);
    const auto records = all_records(**log);
    ASSERT_TRUE(records) << records.error().message;
    EXPECT_TRUE(records->at(secret_position - 1).redacted);
    const auto* redaction = event_as<PayloadRedacted>(records->back().event);
    ASSERT_NE(redaction, nullptr);
    EXPECT_EQ(redaction->redacted_position, secret_position);
  }
}

// Checks all files, RocksDB's own included.
TEST_F(RedactedLog, HasNoByteOfIt) { EXPECT_EQ(files_with_secret(data_.path()), ""); }

TEST_F(RedactedLog, IsDamagedWithAnotherReplacement) {
  change_entry(1, [](const std::string& entry) {
    return redact_entry(entry, 1, secret_position, RunEvent(RunCanceled{"I never said that"}),
                        salt_of(5))
        ->bytes;
  });
  for (const bool read_only : {true, false}) {
    const StoreError error = failure_of_opening({.read_only = read_only});
    EXPECT_EQ(error.kind, StoreError::Kind::damaged);
    EXPECT_EQ(error.position, secret_position);
    EXPECT_NE(error.message.find("isn't what the event of its redaction"), std::string::npos)
        << error.message;
  }
}

TEST_F(RedactedLog, IsDamagedWhereNoEventTellsOfIt) {
  change_entry(4, [](const std::string& entry) {
    return redact_entry(entry, 4, 4, sample_commit(4, 1).front().event, salt_of(5))->bytes;
  });
  const StoreError error = failure_of_opening();
  EXPECT_EQ(error.kind, StoreError::Kind::damaged);
  EXPECT_EQ(error.position, 4U);
}

// Somebody restores the old file: the Merkle tree doesn't reveal it, the event does.
TEST_F(RedactedLog, IsDamagedWithThePayloadThereAgain) {
  TemporaryDirectory before;
  {
    auto log = open_log(before.path(), {.random = counted_salts()});
    append_secret(*log);
    append_commits(*log, 3);
    ASSERT_EQ(redact_secret(*log).status, AppendStatus::ok);
    ASSERT_TRUE(log->close());
  }
  TemporaryDirectory other;
  std::string original;
  {
    auto log = open_log(other.path(), {.random = counted_salts()});
    append_secret(*log);
    ASSERT_TRUE(log->scan_frames(1, 3, [&](const Frame& frame) {
      append_frame(frame, original);
      return true;
    }));
  }
  {
    auto database = RocksDatabase::open(before / "log", RocksDatabase::Mode::read_write, nullptr);
    ASSERT_TRUE(database);
    rocksdb::WriteBatch batch = RocksDatabase::batch(0);
    (*database)->put_entry(batch, 1, original);
    ASSERT_TRUE((*database)->write(batch).ok());
  }
  const auto log = RocksEventLog::open(before.path(), {});
  ASSERT_FALSE(log);
  EXPECT_EQ(log.error().position, secret_position);
  EXPECT_NE(log.error().message.find("is there again"), std::string::npos) << log.error().message;
}

// The verified checkpoint, a snapshot's position, lies between the record and the event of its
// redaction.
TEST_F(RedactedLog, IsCheckedBehindACheckpoint) {
  Checkpoint checkpoint;
  {
    auto log = open_log(data_.path(), {.read_only = true});
    checkpoint = {4, *log->verify(4)};
    ASSERT_TRUE(RocksEventLog::open(data_.path(), {.read_only = true, .verified = checkpoint}));
  }
  change_entry(1, [](const std::string& entry) {
    return redact_entry(entry, 1, secret_position, RunEvent(RunCanceled{"I never said that"}),
                        salt_of(5))
        ->bytes;
  });
  EXPECT_EQ(failure_of_opening({.verified = checkpoint}).position, secret_position);
}

// The power fails, or the process is killed, between the batch and the rewriting of the tables.
TEST_F(RedactedLog, IsErasedByTheNextOpening) {
  TemporaryDirectory crashed;
  {
    TemporaryDirectory data;
    auto log = open_log(data.path());
    append_secret(*log);
    append_commits(*log, 40);
    log.reset();
    log = open_log(data.path());  // opening flushes it to a table
    ASSERT_EQ(redact_secret(*log).status, AppendStatus::ok);
    copy_directory(data.path(), crashed.path());
  }
  EXPECT_NE(files_with_secret(crashed.path()), "");
  {  // Opening for reading leaves the files as they are.
    auto log = open_log(crashed.path(), {.read_only = true});
    EXPECT_TRUE(log->read(1, 10)->at(secret_position - 1).redacted);
  }
  EXPECT_NE(files_with_secret(crashed.path()), "");
  auto log = open_log(crashed.path());
  EXPECT_EQ(files_with_secret(crashed.path()), "");
  EXPECT_TRUE(log->read(1, 10)->at(secret_position - 1).redacted);
  append_commits(*log, 1);
}

// The text may be in flushed or compacted tables, or only in the write-ahead log.
TEST(Erasing, FindsItOnEveryLevel) {
  for (const int commits : {0, 1, 40, 400}) {
    for (const bool reopened : {false, true}) {
      TemporaryDirectory data;
      auto log = open_log(data.path(), {.buffer_bytes = 4096});
      append_commits(*log, commits / 2);
      const Position secret = log->tail() + secret_position;
      append_secret(*log);
      append_commits(*log, commits / 2);
      if (reopened) {
        log.reset();
        log = open_log(data.path(), {.buffer_bytes = 4096});
      }
      EXPECT_NE(files_with_secret(data.path()), "");
      ASSERT_EQ(redact_secret(*log, secret).status, AppendStatus::ok);
      ASSERT_TRUE(log->erase_replaced());
      EXPECT_EQ(files_with_secret(data.path()), "") << commits << " commits";
      append_commits(*log, 2);
      ASSERT_TRUE(log->verify(log->tail()));
    }
  }
}

}  // namespace
}  // namespace signalbox::test
