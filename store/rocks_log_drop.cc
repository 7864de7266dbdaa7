// How a RocksEventLog drops records. rocks_log_horizon reads and verifies what is kept of them.
//
// One batch holds the event, the new horizon, the tree's hashes and the erasure of the entries, so
// the drop is atomic. The base is written before that batch, when nothing refers to it yet. After
// the batch the files are rewritten without the erased bytes; the next opening repeats that if it
// wasn't finished.
//
// Only what writes runs on the appending thread, in steps of at most a part of the base. Reading
// the records and rewriting the files, which take as long as the history is, run beside it.
#include <algorithm>
#include <iterator>

#include "domain/check.h"
#include "domain/try.h"
#include "store/dropped_values.h"
#include "store/durable_file.h"
#include "store/entry.h"
#include "store/head.h"
#include "store/merkle_tree.h"
#include "store/purge_watch.h"
#include "store/rocks_log_state.h"

namespace signalbox {
namespace {

// Gives `grouping` the stored groups that it needs.
Stored<void> take_groups(const RocksDatabase& database, LeafGrouping& grouping) {
  for (const std::uint64_t number : grouping.groups_to_update()) {
    std::optional<LeafGroup> found;
    TRY(read_groups(database, number, [&found](LeafGroup&& group) {
      found = std::move(group);
      return false;
    }));
    if (!found || found->number != number || found->is_root) {
      return tl::unexpected(damaged_at(number * leaf_group_leaves + 1,
                                       "the tree's hashes of dropped records are missing"));
    }
    grouping.take(std::move(*found));
  }
  return {};
}

// Requires that an entry begins at `begin`; or, unless `is_there`, that no entry covers `begin`.
Stored<void> require_entry(const RocksDatabase& database, Position begin, bool is_there) {
  const auto entry = database.entry_of(begin);
  if (entry && entry->first == begin) return {};
  if (entry && !is_there) {
    const auto commit = decode_entry(entry->bytes, entry->first);
    if (commit && commit->back().position < begin) return {};
  }
  return tl::unexpected(damaged_at(begin, "no entry of the log begins there"));
}

// Requires that each kept range begins and ends at entry boundaries, and that the dropped part
// does.
Stored<void> require_whole_entries(const RocksDatabase& database, const HistoryDrop& drop,
                                   Position tail) {
  Stored<void> whole;
  if (drop.position < tail) whole = require_entry(database, drop.position + 1, true);
  for (const PositionRange& range : drop.kept) {
    if (whole) whole = require_entry(database, range.first, true);
    if (whole && range.last < tail) whole = require_entry(database, range.last + 1, false);
  }
  return whole;
}

}  // namespace

// Returns the keys of bases that the horizon doesn't name: of drops that were given up.
Stored<std::vector<std::string>> RocksEventLog::State::stray_bases() const {
  std::vector<std::string> strays;
  const std::string current = base_parts_prefix(horizon.base_key);
  bool is_at_current = false;
  const auto note = [&](std::string_view key, auto) {
    is_at_current = horizon.position > 0 && key.starts_with(current);
    if (!is_at_current) strays.emplace_back(key);
    return !is_at_current;
  };
  TRY(database->values(base_prefix, base_prefix, note));
  if (!is_at_current) return strays;
  // Continues after the current base, without reading it.
  TRY(database->values(base_prefix, base_parts_prefix(horizon.base_key + 1), note));
  return strays;
}

Stored<void> RocksEventLog::State::purge_dropped(Position through,
                                                 std::atomic<bool>* canceled) const {
  TRY(database->purge_erased(through + 1, canceled));
  return sync_directory(log_directory(data));
}

Stored<void> RocksEventLog::State::note_finished(const std::vector<std::string>& strays,
                                                 bool is_purged) {
  if (strays.empty() && !is_purged) return {};
  Horizon next = horizon;
  rocksdb::WriteBatch batch = RocksDatabase::batch(0);
  for (const std::string& key : strays) database->erase_value(batch, key);
  database->touch_entries(batch);
  if (is_purged) {
    next.files_rewritten = true;
    database->put_value(batch, horizon_key, encode_horizon(next));
  }
  TRY(write_values(batch));
  const std::unique_lock changing(horizon_mutex);
  horizon = std::move(next);
  return {};
}

// Completes a drop of which a crash or an earlier failure left a part undone: removes bases that
// nothing refers to, and rewrites files that may still have erased bytes.
Stored<void> RocksEventLog::State::finish_drop() {
  const auto strays = TRY(stray_bases());
  if (strays.empty() && (horizon.position == 0 || horizon.files_rewritten)) return {};
  if (horizon.position > 0) TRY(purge_dropped(horizon.position, nullptr));
  return note_finished(strays, horizon.position > 0);
}

Stored<StagedDrop> RocksEventLog::stage_drop(HistoryDrop drop,
                                             const std::atomic<bool>* canceled) const {
  const State& state = *state_;
  const Horizon before = horizon();
  const Position tail = state.tail;
  const bool renews = drop.renews(before);
  SIGNALBOX_CHECK((drop.position > before.position || renews) && drop.position <= tail);
  const auto located = [&state](const StoreError& error) {
    return tl::unexpected(state.located(error));
  };
  StagedDrop staged;
  staged.drop = std::move(drop);
  staged.dropped_at_before = before.dropped_at;
  staged.frontier = before.frontier;
  staged.base_sha256 = sha256(staged.drop.base);
  staged.base_key = tail + 1;
  {
    const std::shared_lock reading(state.mutex);
    if (state.database == nullptr) return tl::unexpected(state.unreadable());
    if (auto whole = require_whole_entries(*state.database, staged.drop, tail); !whole) {
      return located(whole.error());
    }
  }
  if (renews) return staged;
  LeafGrouping grouping(before, staged.drop.kept, staged.drop.position);
  {
    const std::shared_lock reading(state.mutex);
    if (state.database == nullptr) return tl::unexpected(state.unreadable());
    if (auto taken = take_groups(*state.database, grouping); !taken) return located(taken.error());
  }
  TRY(state.add_leaves(before, staged, grouping, canceled));
  staged.groups = grouping.finish();
  return staged;
}

// Computes the tree up to the new horizon, and adds the leaves after the former one to `grouping`.
Stored<void> RocksEventLog::State::add_leaves(const Horizon& before, StagedDrop& staged,
                                              LeafGrouping& grouping,
                                              const std::atomic<bool>* canceled) const {
  Sha256 hashing;
  const Position end = staged.drop.position;
  const auto add = [&](const Frame& frame) -> Stored<bool> {
    if (frame.position > end) return false;
    if (frame.position <= before.position) return true;
    const Digest leaf = leaf_hash(frame, hashing);
    append_leaf(staged.frontier, leaf, hashing);
    grouping.add(leaf);
    return true;
  };
  const bool wanted = true;
  TRY(walk(before.position + 1, end, wanted,
           [&](std::string_view entry, Position first, Position, Position) -> Stored<EntryEnd> {
             if (canceled != nullptr && *canceled) {
               return store_failure(StoreError::Kind::io, "reading what is dropped ended");
             }
             return for_each_frame(entry, first, add);
           }));
  return {};
}

Stored<bool> RocksEventLog::store_base_part(StagedDrop& staged) {
  State& state = *state_;
  TRY(state.require_writable());
  if (staged.base_parts == 0) {
    const auto strays = TRY(state.stray_bases());
    TRY(state.note_finished(strays, /*is_purged=*/false));
  }
  const std::size_t at = staged.base_parts * base_chunk_bytes;
  if (at >= staged.drop.base.size()) return false;
  rocksdb::WriteBatch chunk = RocksDatabase::batch(base_chunk_bytes);
  state.database->put_value(chunk, base_part_key(staged.base_key, staged.base_parts),
                            std::string_view(staged.drop.base).substr(at, base_chunk_bytes));
  state.database->touch_entries(chunk);
  TRY(state.write_values(chunk));
  ++staged.base_parts;
  return at + base_chunk_bytes < staged.drop.base.size();
}

void RocksEventLog::State::put_drop(rocksdb::WriteBatch& batch, const StagedDrop& staged,
                                    const Horizon& next) const {
  Position dropped_from = 1;
  for (const PositionRange& range : staged.drop.kept) {
    if (dropped_from < range.first) {
      database->erase_entries(batch, dropped_from, range.first);
    }
    dropped_from = range.last + 1;
  }
  if (dropped_from <= staged.drop.position) {
    database->erase_entries(batch, dropped_from, staged.drop.position + 1);
  }
  for (const LeafGroup& group : staged.groups) {
    database->put_value(batch, group_key(group.number), encode_leaf_group(group));
  }
  database->put_value(batch, horizon_key, encode_horizon(next));
  database->erase_value(batch, unrecorded_base_key);
}

// The files are rewritten without the former base as they are without the replaced payload, which
// the same batch marks (rocks_erasure.cc).
Horizon RocksEventLog::State::put_renewed_base(rocksdb::WriteBatch& batch, const StagedDrop& staged,
                                               Position renewed_at) const {
  SIGNALBOX_CHECK(staged.drop.renews(horizon) && staged.dropped_at_before == horizon.dropped_at);
  SIGNALBOX_CHECK(staged.base_parts * base_chunk_bytes >= staged.drop.base.size());
  for (std::uint64_t part = 0; part * base_chunk_bytes < horizon.base_bytes; ++part) {
    database->erase_value(batch, base_part_key(horizon.base_key, part));
  }
  Horizon next = horizon;
  if (renewed_at > 0) next.dropped_at = renewed_at;
  next.base_sha256 = staged.base_sha256;
  next.base_bytes = staged.drop.base.size();
  next.base_key = staged.base_key;
  database->put_value(batch, horizon_key, encode_horizon(next));
  if (renewed_at > 0) {
    database->erase_value(batch, unrecorded_base_key);
  } else {
    database->put_value(batch, unrecorded_base_key, "1");
  }
  return next;
}

Stored<AppendResult> RocksEventLog::commit_drop(Position expected_tail, const Commit& commit,
                                                const StagedDrop& staged) {
  State& state = *state_;
  const HistoryDrop& drop = staged.drop;
  const auto* event = event_as<HistoryDropped>(commit.front().event);
  SIGNALBOX_CHECK(commit.size() == 1 && event != nullptr && event->horizon == drop.position);
  SIGNALBOX_CHECK(staged.dropped_at_before == state.horizon.dropped_at);
  SIGNALBOX_CHECK(staged.base_parts * base_chunk_bytes >= drop.base.size());
  if (expected_tail != state.tail) return AppendResult{AppendStatus::conflict, state.tail, {}};
  check_numbering(expected_tail, {&commit, 1});
  Horizon next{
      drop.position,   staged.frontier, expected_tail + 1, staged.base_sha256, drop.base.size(),
      staged.base_key, false,           drop.kept};
  if (const auto same = require_drop_of(*event, staged); !same) {
    return tl::unexpected(state.located(same.error()));
  }
  if (auto refused = state.refused()) return *std::move(refused);

  MerkleFrontier frontier = state.frontier;
  std::string entry;
  encode_entry(commit, state.options.random, state.sha256, frontier, entry);
  rocksdb::WriteBatch batch = RocksDatabase::batch(entry.size());
  state.put_drop(batch, staged, next);
  // Whoever writes the log alone has taken it out of its cell.
  if (!state.due_drops.empty()) state.database->put_value(batch, due_drops_key, {});
  state.database->put_entry(batch, commit.front().position, entry);
  std::string head;
  encode_head(frontier, head);
  state.database->put_head(batch, head);
  StoreError failure;
  {
    // Readers must see either the records without the horizon or the horizon without the records.
    const std::unique_lock changing(state.horizon_mutex);
    const rocksdb::Status written = state.database->write(batch);
    if (written.ok()) {
      state.horizon = std::move(next);
      state.due_drops.clear();
      state.synced = frontier.leaves;
      return state.wrote(std::move(frontier));
    }
    failure = state.database->error(written);
  }
  return state.failed(failure);
}

// The batch has no record, so the log's tail and tree stay.
Stored<void> RocksEventLog::commit_due_drop(const StagedDrop& staged, Position dropped_at) {
  State& state = *state_;
  const HistoryDrop& drop = staged.drop;
  SIGNALBOX_CHECK(staged.base_key <= dropped_at);
  const auto place = std::ranges::find(state.due_drops, dropped_at);
  if (place == state.due_drops.end() || staged.dropped_at_before != state.horizon.dropped_at) {
    return store_failure(StoreError::Kind::rebuilding, "the drop isn't due any more");
  }
  SIGNALBOX_CHECK(staged.base_parts * base_chunk_bytes >= drop.base.size());
  const auto commit = TRY(read_commit(dropped_at));
  const auto* event = event_as<HistoryDropped>(commit.front().event);
  if (event == nullptr || commit.size() != 1) {
    return tl::unexpected(
        state.located(damaged_at(dropped_at, "it is noted as a HistoryDropped, and isn't one")));
  }
  if (const auto same = require_drop_of(*event, staged); !same) {
    return tl::unexpected(state.located(same.error()));
  }
  const auto failure_of = [](const AppendResult& result) {
    const bool is_full = result.status == AppendStatus::full;
    return store_failure(is_full ? StoreError::Kind::full : StoreError::Kind::io, result.message);
  };
  if (const auto refused = state.refused()) return failure_of(*refused);
  Horizon next{drop.position,    staged.frontier, dropped_at, staged.base_sha256,
               drop.base.size(), staged.base_key, false,      drop.kept};
  const std::vector<Position> due(std::next(place), state.due_drops.end());
  rocksdb::WriteBatch batch = RocksDatabase::batch(0);
  state.put_drop(batch, staged, next);
  state.database->put_value(batch, due_drops_key, encode_due_positions(due));
  StoreError failure;
  {
    // As in commit_drop().
    const std::unique_lock changing(state.horizon_mutex);
    const rocksdb::Status written = state.database->write(batch);
    if (written.ok()) {
      state.horizon = std::move(next);
      state.due_drops = due;
      state.last_sequence = state.database->last_sequence();
      return {};
    }
    failure = state.database->error(written);
  }
  return failure_of(state.failed(failure));
}

Stored<void> RocksEventLog::purge_dropped(std::atomic<bool>* canceled) const {
  const State& state = *state_;
  const Position through = horizon().position;
  const std::shared_lock reading(state.mutex);
  if (state.database == nullptr) return tl::unexpected(state.unreadable());
  PurgeWatch watch(canceled, state.exclusive_wanted);
  return state.purge_dropped(through, watch.ended());
}

Stored<void> RocksEventLog::note_purged() {
  State& state = *state_;
  TRY(state.require_writable());
  const auto strays = TRY(state.stray_bases());
  return state.note_finished(strays, /*is_purged=*/true);
}

Stored<void> RocksEventLog::drop(Position expected_tail, const Commit& commit,
                                 const HistoryDrop& drop) {
  SIGNALBOX_CHECK(state_->writing == State::Writing::possible && expected_tail == state_->tail);
  auto staged = TRY(stage_drop(drop));
  for (bool more = true; more;) more = TRY(store_base_part(staged));
  const auto result = TRY(commit_drop(expected_tail, commit, staged));
  if (result.status != AppendStatus::ok) {
    const bool is_full = result.status == AppendStatus::full;
    return store_failure(is_full ? StoreError::Kind::full : StoreError::Kind::io, result.message);
  }
  // The drop is durable. If its bytes can't be removed now, the next opening tries again.
  static_cast<void>(state_->finish_drop());
  return {};
}

}  // namespace signalbox
