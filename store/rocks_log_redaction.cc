// How a RocksEventLog replaces a payload, and erases the replaced bytes from its files.
//
// One batch holds the event, the entry in its new form and the mark of the erasure, so that the
// redaction is atomic. The files are rewritten afterwards; the next opening repeats that if it
// wasn't finished.
//
// Only what writes runs on the appending thread, at most one entry at a time. Rewriting the files
// runs beside it.
#include <chrono>
#include <utility>
#include <vector>

#include "domain/check.h"
#include "domain/try.h"
#include "store/dropped_values.h"
#include "store/durable_file.h"
#include "store/entry.h"
#include "store/purge_watch.h"
#include "store/rocks_log_state.h"

namespace signalbox {
namespace {

// A walk that began before the redaction keeps the files that it reads. Walks of clients are short,
// but those over a long history take minutes.
constexpr auto replaced_files_wait_max = std::chrono::minutes(10);
constexpr auto replaced_files_wait = std::chrono::milliseconds(100);

}  // namespace

Stored<AppendResult> RocksEventLog::redact(Position expected_tail, const Redaction& redaction) {
  State& state = *state_;
  SIGNALBOX_CHECK(state.writing != State::Writing::never);
  if (expected_tail != state.tail) return AppendResult{AppendStatus::conflict, state.tail, {}};
  Commit commit{redaction.note};
  check_numbering(expected_tail, {&commit, 1});
  if (auto refused = state.refused()) return *std::move(refused);
  Salt salt;
  state.options.random(salt);
  const auto staged = TRY(stage_redaction(redaction.position, redaction.replacement, salt));
  set_digests(commit.front(), staged.redacted);
  return commit_redaction(expected_tail, commit, staged);
}

Stored<StagedRedaction> RocksEventLog::stage_redaction(Position position, const Event& replacement,
                                                       const Salt& salt) const {
  const auto entry = TRY(state_->entry_with(position));
  auto redacted = redact_entry(entry.bytes, entry.first, position, replacement, salt);
  if (!redacted) return tl::unexpected(state_->located(redacted.error()));
  return StagedRedaction{position, *std::move(redacted), entry.first, sha256(entry.bytes)};
}

Stored<AppendResult> RocksEventLog::commit_redaction(Position expected_tail, const Commit& commit,
                                                     const StagedRedaction& staged) {
  State& state = *state_;
  const auto* event = event_as<PayloadRedacted>(commit.front().event);
  SIGNALBOX_CHECK(commit.size() == 1 && event != nullptr);
  SIGNALBOX_CHECK(event->redacted_position == staged.position);
  SIGNALBOX_CHECK(event->payload_digest == staged.redacted.payload_digest);
  SIGNALBOX_CHECK(event->replacement_digest == staged.redacted.replacement_digest);
  if (expected_tail != state.tail) return AppendResult{AppendStatus::conflict, state.tail, {}};
  check_numbering(expected_tail, {&commit, 1});
  if (auto refused = state.refused()) return *std::move(refused);
  const auto present = state.database->entry_of(staged.entry_first);
  if (!present) return tl::unexpected(state.located(present.error()));
  // Another redaction of the entry, or its drop, would be undone.
  SIGNALBOX_CHECK(present->first == staged.entry_first);
  SIGNALBOX_CHECK(sha256(present->bytes) == staged.replaced_sha256);
  State::Replacement replacement{staged.entry_first, staged.redacted.bytes, {}};
  replacement.erasing = TRY(state.database->erasing_with(staged.entry_first));
  return state.write({&commit, 1}, &replacement);
}

Stored<void> RocksEventLog::erase_replaced() {
  SIGNALBOX_CHECK(state_->writing != State::Writing::never);
  TRY(state_->require_writable());
  return state_->erase_replaced();
}

// RocksDB can't go on after a rewriting that found no space either.
Stored<void> RocksEventLog::State::erase_replaced() {
  const auto erasure = TRY(database->plan_erasure());
  if (!erasure.keys.empty()) {
    auto begun = TRY(database->begin_erasure());
    TRY(write_values(begun));
    auto erased = database->erase_planned(erasure);
    if (!erased && erased.error().kind == StoreError::Kind::full) {
      static_cast<void>(failed(erased.error()));
    }
    TRY(std::move(erased));
    auto done = TRY(database->end_erasure(erasure));
    TRY(write_values(done));
  }
  const std::unique_lock changing(horizon_mutex);
  redactions.is_erasing = false;
  return {};
}

Stored<Erasure> RocksEventLog::plan_erasure() const {
  const State& state = *state_;
  const std::shared_lock reading(state.mutex);
  if (state.database == nullptr) return tl::unexpected(state.unreadable());
  // What is being written to a table now would be missing in the list of files.
  TRY(state.database->flush_memory());
  return state.database->plan_erasure();
}

Stored<void> RocksEventLog::begin_erasure() {
  State& state = *state_;
  TRY(state.require_writable());
  auto batch = TRY(state.database->begin_erasure());
  // What a drop left that was given up, or made, may have the text.
  for (const std::string& key : TRY(state.stray_bases())) state.database->erase_value(batch, key);
  return state.write_values(batch);
}

Stored<void> RocksEventLog::purge_replaced(const Erasure& erasure,
                                           std::atomic<bool>* canceled) const {
  const State& state = *state_;
  if (erasure.keys.empty()) return {};
  std::vector<std::filesystem::path> replaced;
  {
    const std::shared_lock reading(state.mutex);
    if (state.database == nullptr) return tl::unexpected(state.unreadable());
    PurgeWatch watch(canceled, state.exclusive_wanted);
    replaced = TRY(state.database->purge_replaced(erasure, watch.ended()));
  }
  const auto deadline = std::chrono::steady_clock::now() + replaced_files_wait_max;
  for (;;) {
    // Locked for moments: an append to a full disk reopens the database.
    std::unique_lock turn(state.turn_mutex);
    const std::shared_lock reading(state.mutex);
    turn.unlock();
    if (state.database == nullptr) return tl::unexpected(state.unreadable());
    const auto removed = state.database->await_removal(replaced, replaced_files_wait);
    if (removed) break;
    const bool is_canceled = canceled != nullptr && *canceled;
    if (is_canceled || std::chrono::steady_clock::now() >= deadline) return removed;
  }
  return sync_directory(log_directory(state.data));
}

Stored<void> RocksEventLog::note_erased(const Erasure& erasure) {
  State& state = *state_;
  TRY(state.require_writable());
  auto batch = TRY(state.database->end_erasure(erasure));
  TRY(state.write_values(batch));
  const bool is_erasing = !TRY(state.database->erasing()).empty();
  const std::unique_lock changing(state.horizon_mutex);
  state.redactions.is_erasing = is_erasing;
  return {};
}

PendingRedactions RocksEventLog::pending_redactions() const {
  const std::shared_lock consistent(state_->horizon_mutex);
  return state_->redactions;
}

Stored<void> RocksEventLog::settle_redactions(Position through) {
  State& state = *state_;
  PendingRedactions pending = state.redactions;
  const auto settled = std::erase_if(pending.due, [&](Position each) { return each <= through; });
  if (settled == 0) return {};
  TRY(state.require_writable());
  rocksdb::WriteBatch batch = RocksDatabase::batch(0);
  state.put_pending(batch, pending);
  state.database->touch_entries(batch);
  TRY(state.write_values(batch));
  const std::unique_lock changing(state.horizon_mutex);
  state.redactions.due = std::move(pending.due);
  return {};
}

void RocksEventLog::State::put_pending(rocksdb::WriteBatch& batch,
                                       const PendingRedactions& pending) const {
  database->put_value(batch, due_redactions_key, encode_due_positions(pending.due));
  database->put_value(batch, awaited_redactions_key, encode_due_positions(pending.awaited));
  database->put_value(batch, latest_redaction_key, encode_due_positions({pending.latest}));
}

Stored<PendingRedactions> RocksEventLog::State::put_redactions(
    rocksdb::WriteBatch& batch, std::span<const std::string_view> entries,
    const EntryRedactions& given) const {
  using Entry = ReplicaEntries::Entry;
  const auto entry_of = [this](Position position) -> Stored<Entry> {
    auto entry = TRY(database->entry_of(position));
    return Entry{entry.first, std::move(entry.bytes)};
  };
  const auto replace = [&](const Entry& entry) -> Stored<void> {
    database->put_entry(batch, entry.first, entry.bytes);
    database->put_erasing(batch, TRY(database->erasing_with(entry.first)));
    return {};
  };
  auto pending = TRY(follow_redactions(redactions, entries, given, {horizon, entry_of, replace}));
  put_pending(batch, pending);
  return pending;
}

}  // namespace signalbox
