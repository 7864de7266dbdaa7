// The write operations of a RocksEventLog, and its state changes after a failed write.
#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

#include "domain/check.h"
#include "store/dropped_values.h"
#include "store/durable_file.h"
#include "store/entry.h"
#include "store/frame.h"
#include "store/head.h"
#include "store/rocks_log_state.h"
#include "store/wal_file.h"

namespace signalbox {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto anchor_interval = std::chrono::seconds(1);
// Attempting to write again blocks readers, so each failed attempt doubles the pause before the
// next.
constexpr Clock::duration full_pause_max = std::chrono::seconds(30);
// For full_for(): a write without space so long after the former one begins to count anew.
constexpr Clock::duration doubt_max = std::chrono::minutes(1);
constexpr Clock::duration forgotten_after = std::chrono::minutes(5);
// With less free space an attempt is bound to fail.
constexpr std::uintmax_t resume_bytes_min = 16 * 1024 * 1024;

}  // namespace

AppendResult RocksEventLog::append(Position expected_tail, std::span<const Commit> commits) {
  State& state = *state_;
  SIGNALBOX_CHECK(state.writing != State::Writing::never);
  if (expected_tail != state.tail) return {AppendStatus::conflict, state.tail, {}};
  check_numbering(expected_tail, commits);
  if (commits.empty()) return {AppendStatus::ok, state.tail, {}};
  if (auto refused = state.refused()) return *std::move(refused);
  return state.write(commits, nullptr);
}

AppendResult RocksEventLog::append_entries(Position expected_tail,
                                           std::span<const std::string_view> entries,
                                           MerkleFrontier next, const EntryRedactions& redactions) {
  State& state = *state_;
  SIGNALBOX_CHECK(state.writing != State::Writing::never);
  if (expected_tail != state.tail) return {AppendStatus::conflict, state.tail, {}};
  if (entries.empty()) return {AppendStatus::ok, state.tail, {}};
  if (auto refused = state.refused()) return *std::move(refused);
  std::size_t bytes = 0;
  for (const std::string_view entry : entries) bytes += entry.size();
  rocksdb::WriteBatch batch = RocksDatabase::batch(bytes);
  std::vector<Position> due;
  if (redactions.renewed_at == 0) due = state.due_drops;
  for (const std::string_view entry : entries) {
    const auto first = parse_frame(entry);
    SIGNALBOX_CHECK(first.has_value());
    state.database->put_entry(batch, first->position, entry);
    const bool is_drop = first->number == HistoryDropped::tag.number;
    if (is_drop && first->position != redactions.renewed_at) due.push_back(first->position);
  }
  const bool has_drop = due != state.due_drops;
  if (has_drop) state.database->put_value(batch, due_drops_key, encode_due_positions(due));
  PendingRedactions pending;
  if (redactions.are_there()) {
    auto put = state.put_redactions(batch, entries, redactions);
    if (!put) return state.failed(put.error());
    pending = *std::move(put);
  }
  Horizon next_horizon;
  const bool renews = redactions.base != nullptr;
  if (renews) {
    SIGNALBOX_CHECK(redactions.renewed_at > 0 || !due.empty());
    next_horizon = state.put_renewed_base(batch, *redactions.base, redactions.renewed_at);
  }
  std::string head;
  encode_head(next, head);
  state.database->put_head(batch, head);
  rocksdb::Status status;
  {
    // Whoever compares redactions with their events, or a base with its one, must see both or
    // neither.
    std::unique_lock changing(state.horizon_mutex, std::defer_lock);
    if (has_drop || redactions.are_there()) changing.lock();
    status = state.database->write(batch, /*is_synced=*/false);
    if (status.ok() && has_drop) state.due_drops = std::move(due);
    if (status.ok() && redactions.are_there()) state.redactions = std::move(pending);
    if (status.ok() && renews) state.horizon = std::move(next_horizon);
  }
  if (!status.ok()) return state.failed(state.database->error(status), /*was_synced=*/false);
  state.unsynced = true;
  return state.wrote(std::move(next));
}

Stored<void> RocksEventLog::sync() {
  State& state = *state_;
  if (state.writing == State::Writing::possible) return state.sync_entries();
  const bool is_full = state.writing == State::Writing::full;
  return store_failure(is_full ? StoreError::Kind::full : StoreError::Kind::io, state.failure);
}

Position RocksEventLog::synced() const { return state_->synced; }

Stored<void> RocksEventLog::State::sync_entries() {
  if (!unsynced) return {};
  const rocksdb::Status status = database->sync();
  if (status.ok()) {
    unsynced = false;
    synced = tail.load();
    return {};
  }
  const StoreError error = database->error(status);
  static_cast<void>(failed(error));
  return tl::unexpected(error);
}

std::optional<AppendResult> RocksEventLog::State::refused() {
  if (writing == Writing::unknown) return refuse(AppendStatus::unknown);
  if (writing == Writing::full && !writable_again()) {
    return refuse(writing == Writing::full ? AppendStatus::full : AppendStatus::unknown);
  }
  return std::nullopt;
}

Stored<void> RocksEventLog::State::require_writable() {
  const auto refusal = refused();
  if (!refusal) return {};
  const bool is_full = refusal->status == AppendStatus::full;
  return store_failure(is_full ? StoreError::Kind::full : StoreError::Kind::io,
                       "the log can't be written: " + failure);
}

AppendResult RocksEventLog::State::write(std::span<const Commit> commits,
                                         const Replacement* replacement) {
  MerkleFrontier next = frontier;
  encoder.begin(commits, options.random);
  rocksdb::WriteBatch batch = RocksDatabase::batch(encoder.bytes());
  for (std::size_t index = 0; index < commits.size(); ++index) {
    database->put_entry(batch, commits[index].front().position, encoder.entry(index));
  }
  encoder.end(sha256, next);
  std::string head;
  encode_head(next, head);
  database->put_head(batch, head);
  rocksdb::Status status;
  if (replacement == nullptr) {
    status = database->write(batch);
  } else {
    database->put_entry(batch, replacement->first, replacement->entry);
    database->put_erasing(batch, replacement->erasing);
    // Whoever compares redactions with their events must see both or neither.
    const std::unique_lock changing(horizon_mutex);
    status = database->write(batch);
    if (status.ok()) redactions.is_erasing = true;
  }
  if (!status.ok()) return failed(database->error(status));
  synced = next.leaves;
  return wrote(std::move(next));
}

Stored<void> RocksEventLog::State::write_values(rocksdb::WriteBatch& batch) {
  const rocksdb::Status written = database->write(batch);
  if (!written.ok()) {
    const StoreError error = database->error(written);
    static_cast<void>(failed(error));
    return tl::unexpected(error);
  }
  last_sequence = database->last_sequence();
  return {};
}

AppendResult RocksEventLog::State::wrote(MerkleFrontier next) {
  frontier = std::move(next);
  last_sequence = database->last_sequence();
  tail = frontier.leaves;
  // The records are durable whether or not the anchor is: it only serves to detect their loss. An
  // anchor must not claim more than what is durable.
  if (Clock::now() - anchored_at >= anchor_interval) {
    if (sync_entries()) {
      static_cast<void>(anchor_tail());
    } else if (writing != Writing::full) {
      return refuse(AppendStatus::unknown);
    }
    // Without space for their sync the entries are in the log that was opened again: the next
    // append is refused.
  }
  return {AppendStatus::ok, tail, {}};
}

AppendResult RocksEventLog::State::failed(const StoreError& error, bool was_synced) {
  failure = error.message;
  if (error.kind != StoreError::Kind::full) {
    writing = State::Writing::unknown;
    return refuse(AppendStatus::unknown);
  }
  // RocksDB can't continue with a write-ahead log that it failed to write. So close it, truncate
  // what the failed write left, lest it reappear later, and reopen it read-only: that needs no
  // space.
  const Exclusive exclusive(*this);
  database.reset();
  writing = State::Writing::full;
  full_tried_at = Clock::now();
  full_pause = options.full_pause;
  if (auto cut = cut_wal_files_after(log_directory(data), last_sequence); !cut) {
    failure += "; " + cut.error().message;
    writing = State::Writing::unknown;
  } else if (!was_synced && sync_directory(log_directory(data))) {
    unsynced = false;  // whatever is left of the files is durable now
    synced = tail.load();
  }
  if (auto opened = open_database(RocksDatabase::Mode::read_only); !opened) {
    failure += "; " + opened.error().message;
  }
  note_full();
  return refuse(writing == State::Writing::full ? AppendStatus::full : AppendStatus::unknown);
}

void RocksEventLog::State::note_full() {
  const Clock::time_point now = Clock::now();
  const bool is_again = doubt.count() > 0 && now - found_full_at < forgotten_after;
  doubt = std::min(is_again ? 2 * doubt : Clock::duration(2 * options.full_pause), doubt_max);
  found_full_at = now;
  doubted_until = now + doubt;
}

std::chrono::milliseconds RocksEventLog::full_for() const {
  const Clock::duration left = state_->doubted_until.load() - Clock::now();
  return std::chrono::ceil<std::chrono::milliseconds>(std::max(left, Clock::duration::zero()));
}

bool RocksEventLog::State::writable_again() {
  if (Clock::now() - full_tried_at < full_pause) return false;
  full_tried_at = Clock::now();
  std::error_code unknown;  // on an error `available` is the maximum value, so the attempt is made
  if (std::filesystem::space(data, unknown).available < resume_bytes_min) return false;
  const Exclusive exclusive(*this);
  database.reset();
  // After a sync that failed nothing makes the write-ahead log durable any more: what it has is
  // written to tables then, and the removal of the log made durable, as at an opening.
  auto opened =
      open_database(unsynced ? RocksDatabase::Mode::read_write : RocksDatabase::Mode::resume);
  if (opened && unsynced) opened = sync_directory(log_directory(data));
  if (opened) {
    const auto head = database->head();
    if (head && *head == frontier) {
      unsynced = false;
      synced = tail.load();
      last_sequence = database->last_sequence();
      writing = State::Writing::possible;
      return true;
    }
    failure = head ? "the log isn't the same after it was opened again" : head.error().message;
    writing = State::Writing::unknown;
    return false;
  }
  failure = opened.error().message;
  full_pause = std::min(2 * full_pause, full_pause_max);
  database.reset();
  if (auto reopened = open_database(RocksDatabase::Mode::read_only); !reopened) {
    failure += "; " + reopened.error().message;
  }
  return false;
}

}  // namespace signalbox
