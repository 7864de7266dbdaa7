#include "tests/power_loss/power_loss_session.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "domain/free_text.h"
#include "tests/store/log_directory.h"
#include "tests/store/redacted_log.h"
#include "tests/store/sample_events.h"

namespace signalbox::test {
namespace {

// An append: a list of commands, each of which is a list of its records' sizes in bytes. There are
// small ones, a group of many commands, one that is longer than a block of the write-ahead log, and
// enough of them to fill buffers and change files.
using Append = std::vector<std::vector<std::size_t>>;

std::vector<Append> script_of_life(int life) {
  const Append small{{40, 60, 80}};
  const Append group{{30}, {30, 30}, {3000}, {10, 20}, {50}};
  const Append large{{45'000, 200}, {30'000}};
  if (life == 0) return {small, group, large, small, large, group, large, small};
  if (life == 1) return {small, large, group, small};
  return {group, small};
}

// The first secret is redacted when it is in a table, the second while it is in memory and in a
// write-ahead log.
const std::string first_secret = secret_text;
const std::string second_secret = std::string(first_secret.rbegin(), first_secret.rend());

const std::string* reason_of(const Record& record) {
  const auto* canceled = event_as<RunCanceled>(record.event);
  return canceled == nullptr ? nullptr : &canceled->reason;
}

// Clears the digests that the log adds to a note: they depend on random salts. Opening the log
// verifies them.
Record without_digests(Record record) {
  if (const auto* note = event_as<PayloadRedacted>(record.event)) {
    PayloadRedacted blanked = *note;
    blanked.payload_digest = {};
    blanked.replacement_digest = {};
    record.event = AccessEvent(std::move(blanked));
  }
  return record;
}

bool equal_from(const std::vector<Record>& found, const std::vector<Record>& sent, Position first) {
  return std::equal(
      found.begin(), found.end(), sent.begin() + static_cast<std::ptrdiff_t>(first - 1),
      [](const Record& each, const Record& other) { return without_digests(each) == other; });
}

// Expects that no file contains a text that was redacted according to the log.
void expect_erased(const std::filesystem::path& data, const ExpectedLog& expected, Position tail,
                   const std::string& about) {
  const std::vector<Record> records = expected.as_of(tail);
  for (const Record& record : records) {
    if (!record.redacted) continue;
    const std::string& text = *reason_of(expected.sent[record.position - 1]);
    EXPECT_EQ(files_with_secret(data, text), "") << about << ": redacted, and still in a file";
  }
}

std::string base_of(Position horizon) {
  return std::string(50'000, static_cast<char>('a' + horizon % 26));
}

std::string name_of(StoreError::Kind kind) {
  switch (kind) {
    case StoreError::Kind::damaged:
      return "damaged";
    case StoreError::Kind::in_use:
      return "in use";
    case StoreError::Kind::unsupported:
      return "unsupported";
    case StoreError::Kind::full:
      return "full";
    case StoreError::Kind::io:
      return "I/O error";
    case StoreError::Kind::not_found:
      return "not found";
    case StoreError::Kind::dropped:
      return "dropped";
    case StoreError::Kind::rebuilding:
      return "rebuilding";
    case StoreError::Kind::away:
      return "away";
    case StoreError::Kind::denied:
      return "denied";
  }
  return "";
}

// Expects that the records from the horizon on are those that were sent, and that the horizon is
// the end of a command.
void expect_as_sent(const EventLog& log, const std::vector<Record>& records,
                    const ExpectedLog& expected, const std::string& about) {
  const Position horizon = log.horizon().position;
  ASSERT_EQ(records.size(), log.tail() - horizon) << about;
  ASSERT_LE(log.tail(), expected.sent.size()) << about << ": more than was sent";
  const std::vector<Record> sent = expected.as_of(log.tail());
  EXPECT_TRUE(equal_from(records, sent, horizon + 1)) << about << ": something else than was sent";
  if (horizon == 0) return;
  EXPECT_EQ(std::ranges::count(expected.ends, horizon), 1) << about;
  const auto base = log.base();
  EXPECT_TRUE(base && *base == base_of(horizon)) << about << ": the base";
  for (const PositionRange& range : log.horizon().kept) {
    const auto kept = log.read_commit(range.first);
    EXPECT_TRUE(kept && equal_from(*kept, sent, range.first)) << about << ": what was kept";
  }
}

std::vector<Commit> commits_after(Position tail, const Append& append, std::size_t& number) {
  std::vector<Commit> commits;
  for (const auto& record_bytes : append) {
    commits.push_back(sized_commit(tail + 1, record_bytes, ++number));
    tail = commits.back().back().position;
  }
  return commits;
}

// Returns the ranges of `kept` and of the notes about redactions in it: as in a retention, a note
// is kept with its record.
std::vector<PositionRange> kept_with_notes(const RocksEventLog& log, const Commit& kept,
                                           Position until) {
  std::vector<PositionRange> ranges{{kept.front().position, kept.back().position}};
  for (const Record& record : records_after_horizon(log).value_or(std::vector<Record>())) {
    const auto* note = event_as<PayloadRedacted>(record.event);
    if (note == nullptr || record.position > until) continue;
    if (note->redacted_position < kept.front().position) continue;
    if (note->redacted_position > kept.back().position) continue;
    ranges.push_back({record.position, record.position});
  }
  return ranges;
}

}  // namespace

std::vector<Record> ExpectedLog::as_of(Position tail) const {
  std::vector<Record> records = sent;
  records.resize(std::min<std::size_t>(records.size(), tail));
  for (std::size_t index = 0; index < records.size(); ++index) {
    const auto* note = event_as<PayloadRedacted>(records[index].event);
    if (note == nullptr) continue;
    Record& redacted = records[note->redacted_position - 1];
    redacted.event = RunEvent(RunCanceled{std::string(blanked_text)});
    redacted.redacted = true;
  }
  return records;
}

Commit sized_commit(Position first, const std::vector<std::size_t>& record_bytes,
                    std::size_t number) {
  Commit commit;
  for (const std::size_t bytes : record_bytes) {
    RunStarted started;
    started.goal.assign(bytes, static_cast<char>('a' + number % 26));
    commit.push_back(sample_record(first++, RunEvent(std::move(started))));
    commit.back().command_id = "sent " + std::to_string(number);
  }
  return commit;
}

RocksEventLog::Options PowerLossSession::options() {
  RocksEventLog::Options options;
  options.buffer_bytes = 64 * 1024;
  options.full_pause = std::chrono::milliseconds(0);
  return options;
}

std::unique_ptr<RocksEventLog> PowerLossSession::open(const std::string& about) {
  const std::filesystem::path data = disk_.root() / "data";
  auto log = RocksEventLog::open(data, options());
  if (!log) {
    const StoreError::Kind kind = log.error().kind;
    EXPECT_GT(disk_.faults(), 0U) << about << ": " << log.error().message;
    EXPECT_TRUE(kind == StoreError::Kind::io || kind == StoreError::Kind::full)
        << about << ": " << name_of(kind) << ": " << log.error().message;
    disk_.heal();
    log = RocksEventLog::open(data, options());
  }
  if (!log) {
    ADD_FAILURE() << about << ", opened again: " << log.error().message;
    return nullptr;
  }
  check_opened(**log, about);
  return std::move(*log);
}

void PowerLossSession::check_opened(const RocksEventLog& log, const std::string& about) {
  const ExpectedLog expected = expected_after(disk_.operations());
  const auto records = records_after_horizon(log);
  ASSERT_TRUE(records) << about << ": " << records.error().message;
  EXPECT_GE(log.tail(), expected.acknowledged) << about;
  expect_as_sent(log, *records, expected, about);
  expect_erased(disk_.root(), expected, log.tail(), about);
  entries_.push_back({Entry::Kind::opened,
                      disk_.operations(),
                      disk_.operations(),
                      log.tail(),
                      AppendStatus::ok,
                      {},
                      {}});
}

bool PowerLossSession::append(RocksEventLog& log, const MakeCommits& commits,
                              const std::string& about) {
  // Fails twice while the disk is full, then the disk has space again.
  for (int attempt = 1;; ++attempt) {
    Entry entry{Entry::Kind::appended, disk_.operations(),  0, 0,
                AppendStatus::ok,      commits(log.tail()), {}};
    const Position tail = log.tail();
    // operations_before is taken before the append: the commits may be on the disk from then on.
    const AppendResult result = log.append(tail, entry.commits);
    entry.operations_after = disk_.operations();
    entry.status = result.status;
    entries_.push_back(std::move(entry));
    if (result.status == AppendStatus::ok) return true;
    EXPECT_GT(disk_.faults(), 0U) << about << ": " << result.message;
    EXPECT_EQ(log.tail(), tail) << about;
    if (result.status != AppendStatus::full) return false;
    const auto records = records_after_horizon(log);
    EXPECT_TRUE(records && records->size() == tail - log.horizon().position)
        << about << ": full, and not readable";
    if (attempt == 3) disk_.heal();
    if (attempt > 3) std::this_thread::sleep_for(std::chrono::milliseconds(attempt));
    if (attempt == 100) {
      ADD_FAILURE() << about << ": it never took an append again: " << result.message;
      return false;
    }
  }
}

bool PowerLossSession::append_secret(RocksEventLog& log, const std::string& text,
                                     const std::string& about) {
  return append(
      log,
      [&](Position tail) {
        Commit commit = sized_commit(tail + 1, {40, 60, 80}, ++appends_);
        commit[1].event = RunEvent(RunCanceled{text});
        return std::vector<Commit>{commit};
      },
      about);
}

bool PowerLossSession::redact(RocksEventLog& log, const std::string& text,
                              const std::string& about) {
  const Position tail = log.tail();
  Position position = 0;
  const auto records = records_after_horizon(log);
  if (!records) {
    ADD_FAILURE() << about << ": not readable before a redaction";
    return false;
  }
  for (const Record& record : *records) {
    const std::string* reason = reason_of(record);
    if (reason != nullptr && *reason == text) position = record.position;
  }
  if (position == 0) return true;
  const Redaction redaction = redaction_of_secret(tail, position);
  Entry entry{Entry::Kind::appended, disk_.operations(), 0, 0,
              AppendStatus::unknown, {{redaction.note}}, {}};
  const auto redacted = log.redact(tail, redaction);
  entry.operations_after = disk_.operations();
  if (redacted) entry.status = redacted->status;
  entries_.push_back(entry);
  if (entry.status != AppendStatus::ok) {
    EXPECT_GT(disk_.faults(), 0U) << about << ": a redaction failed";
    return false;
  }
  if (const auto erased = log.erase_replaced(); !erased) {
    EXPECT_GT(disk_.faults(), 0U) << about << ": " << erased.error().message;
    return false;
  }
  entries_.push_back(
      {Entry::Kind::erased, disk_.operations(), disk_.operations(), 0, AppendStatus::ok, {}, text});
  return true;
}

// Drops the first half of the log, except for the command in the middle of that half.
bool PowerLossSession::drop(RocksEventLog& log, const std::string& about) {
  const Position tail = log.tail();
  const auto half = log.read_commit(log.horizon().position + (tail - log.horizon().position) / 2);
  const Position position = half ? half->front().position - 1 : 0;
  if (position <= log.horizon().position) return true;
  const auto tree = log.verify(position);
  const auto kept =
      log.read_commit(log.horizon().position + (position + 1 - log.horizon().position) / 2);
  if (!tree || !kept) {
    ADD_FAILURE() << about << ": not readable before a drop";
    return false;
  }
  const PreparedDrop prepared =
      prepare_drop(log, *tree, kept_with_notes(log, *kept, position), base_of(position));
  Entry entry{Entry::Kind::appended, disk_.operations(), 0, 0,
              AppendStatus::ok,      {prepared.commit},  {}};
  const auto dropped = log.drop(tail, prepared.commit, prepared.drop);
  entry.operations_after = disk_.operations();
  if (!dropped) {
    EXPECT_GT(disk_.faults(), 0U) << about << ": " << dropped.error().message;
    entry.status =
        dropped.error().kind == StoreError::Kind::full ? AppendStatus::full : AppendStatus::unknown;
  }
  entries_.push_back(std::move(entry));
  return dropped.has_value();
}

void PowerLossSession::run(const std::string& about) {
  for (int life = 0; life < 3; ++life) {
    const auto log = open(about + ", life " + std::to_string(life));
    if (!log) return;
    const std::string where = about + ", life " + std::to_string(life);
    // Drops happen before (life 2) and after (life 1) the appends. A drop that failed ends the
    // life, as it ends the tool that drops.
    if (life == 2 && !drop(*log, where)) continue;
    bool alive = life != 1 || redact(*log, first_secret, where);
    if (alive && life == 0) alive = append_secret(*log, first_secret, where);
    if (alive && life == 1) alive = append_secret(*log, second_secret, where);
    for (const Append& each : script_of_life(life)) {
      alive = alive &&
              append(
                  *log, [&](Position tail) { return commits_after(tail, each, appends_); }, where);
    }
    alive = alive && (life != 1 || redact(*log, second_secret, where));
    if (alive && life == 1) static_cast<void>(drop(*log, where));
  }
}

ExpectedLog PowerLossSession::expected_after(std::size_t operations) const {
  ExpectedLog expected;
  for (const Entry& entry : entries_) {
    if (entry.operations_before > operations) break;
    if (entry.kind == Entry::Kind::opened) {
      // The records found by an opening were served since; those not found are lost for good.
      expected.sent.resize(std::min<std::size_t>(expected.sent.size(), entry.tail));
      expected.acknowledged = entry.tail;
      std::erase_if(expected.ends, [&](Position end) { return end > entry.tail; });
      continue;
    }
    if (entry.kind == Entry::Kind::erased) {
      expected.erased.push_back(entry.text);
      continue;
    }
    const bool answered = entry.operations_after <= operations;
    if (answered && entry.status == AppendStatus::full) continue;
    for (const Commit& commit : entry.commits) {
      expected.sent.insert(expected.sent.end(), commit.begin(), commit.end());
      expected.ends.push_back(commit.back().position);
    }
    if (answered && entry.status == AppendStatus::ok) {
      expected.acknowledged = expected.sent.size();
    }
  }
  return expected;
}

void check_recovery(const std::filesystem::path& data, const ExpectedLog& expected,
                    const std::string& about) {
  for (const std::string& text : expected.erased) {
    EXPECT_EQ(files_with_secret(data, text), "") << about << ": erased, and there again";
  }
  auto log = RocksEventLog::open(data, PowerLossSession::options());
  ASSERT_TRUE(log) << about << ": " << name_of(log.error().kind) << ": " << log.error().message;
  const Position tail = (*log)->tail();
  EXPECT_GE(tail, expected.acknowledged) << about << ": acknowledged, and gone";
  EXPECT_TRUE(tail == 0 || std::ranges::count(expected.ends, tail) == 1)
      << about << ": the log ends at " << tail << ", within a command";
  const auto records = records_after_horizon(**log);
  ASSERT_TRUE(records) << about << ": " << records.error().message;
  expect_as_sent(**log, *records, expected, about);
  expect_erased(data, expected, tail, about);

  const Commit more = sized_commit(tail + 1, {100, 20'000}, 1000);
  const AppendResult appended = (*log)->append(tail, {&more, 1});
  ASSERT_EQ(appended.status, AppendStatus::ok) << about << ": " << appended.message;
  const auto verified = (*log)->verify(appended.tail);
  EXPECT_TRUE(verified) << about << ": " << verified.error().message;
  const auto closed = (*log)->close();
  EXPECT_TRUE(closed) << about << ": " << closed.error().message;
  RocksEventLog::Options reading = PowerLossSession::options();
  reading.read_only = true;
  const auto again = RocksEventLog::open(data, reading);
  ASSERT_TRUE(again) << about << ", again: " << again.error().message;
  const auto all = records_after_horizon(**again);
  ASSERT_TRUE(all) << about << ", again: " << all.error().message;
  ASSERT_EQ(all->size(), tail + more.size() - (*again)->horizon().position) << about;
  EXPECT_TRUE(std::equal(more.begin(), more.end(), all->end() - 2)) << about;
}

}  // namespace signalbox::test
