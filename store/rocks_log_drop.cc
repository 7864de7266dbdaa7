// How a RocksEventLog drops records, and reads and verifies what it keeps of them.
//
// One batch holds the event, the new horizon, the tree's hashes and the erasure of the entries, so
// the drop is atomic. The base is written before that batch, when nothing refers to it yet. After
// the batch the files are rewritten without the erased bytes; the next opening repeats that if it
// wasn't finished.
#include <algorithm>

#include "domain/check.h"
#include "domain/try.h"
#include "store/durable_file.h"
#include "store/entry.h"
#include "store/head.h"
#include "store/merkle_tree.h"
#include "store/rocks_log_state.h"

namespace signalbox {
namespace {

constexpr std::string_view horizon_key = "horizon";
constexpr std::string_view base_prefix = "base/";      // then dropped_at, index: u64, big endian
constexpr std::string_view group_prefix = "leaves/";   // then the number of the group, likewise
constexpr std::size_t base_chunk_bytes = 1024 * 1024;  // RocksDB handles values of this size well

std::string base_key(Position dropped_at, std::uint64_t index) {
  return std::string(base_prefix) + entry_key(dropped_at) + entry_key(index);
}
std::string group_key(std::uint64_t number) {
  return std::string(group_prefix) + entry_key(number);
}

Stored<std::string> read_base(const RocksDatabase& database, const Horizon& horizon) {
  std::string base;
  base.reserve(horizon.base_bytes);
  const std::string prefix = std::string(base_prefix) + entry_key(horizon.dropped_at);
  TRY(database.values(prefix, prefix, [&base](std::string_view, std::string_view chunk) {
    base += chunk;
    return true;
  }));
  if (base.size() != horizon.base_bytes || sha256(base) != horizon.base_sha256) {
    return tl::unexpected(
        damaged_at(horizon.position, "the base at the horizon isn't what was written"));
  }
  return base;
}

// The horizon isn't covered by the tree, so it must match the event that it names, which is.
Stored<void> compare_with_event(const RocksDatabase& database, const Horizon& horizon) {
  const auto entry = TRY(database.entry_of(horizon.dropped_at));
  const auto commit = TRY(decode_entry(entry.bytes, entry.first));
  Sha256 sha256;
  const auto* event = event_as<HistoryDropped>(commit.front().event);
  if (entry.first == horizon.dropped_at && event != nullptr && event->horizon == horizon.position &&
      event->root == merkle_root(horizon.frontier, sha256) && event->base == horizon.base_sha256) {
    return {};
  }
  return tl::unexpected(damaged_at(
      horizon.dropped_at, "the horizon isn't the one that the log's HistoryDropped tells"));
}

// Calls `visit` with the groups from number `from` on, until it returns false.
Stored<void> read_groups(const RocksDatabase& database, std::uint64_t from,
                         const std::function<bool(LeafGroup&&)>& visit) {
  std::optional<StoreError> failure;
  auto read = database.values(
      group_prefix, group_key(from), [&](std::string_view key, std::string_view bytes) {
        const auto number = entry_position(key.substr(group_prefix.size()));
        auto group = number ? decode_leaf_group(*number, bytes)
                            : Stored<LeafGroup>(tl::unexpected(number.error()));
        if (!group) {
          failure = group.error();
          return false;
        }
        return visit(std::move(*group));
      });
  if (!read) return read;
  if (failure) return tl::unexpected(std::move(*failure));
  return {};
}

// The tree up to the new horizon, and the groups of its hashes that are to be stored.
struct DroppedTree {
  MerkleFrontier frontier;
  std::vector<LeafGroup> groups;
};

Stored<DroppedTree> build_dropped_tree(const RocksDatabase& database, const Horizon& before,
                                       const HistoryDrop& drop) {
  LeafGrouping grouping(before, drop.kept, drop.position);
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
  DroppedTree dropped_tree{before.frontier, {}};
  Sha256 sha256;
  TRY(walk_entries(database, before.position + 1, drop.position,
                   [&](std::string_view entry, Position first) {
                     return for_each_frame(entry, first, [&](const Frame& frame) -> Stored<bool> {
                       if (frame.position > drop.position) return false;
                       if (frame.position <= before.position) return true;
                       const Digest leaf = leaf_hash(frame, sha256);
                       append_leaf(dropped_tree.frontier, leaf, sha256);
                       grouping.add(leaf);
                       return true;
                     });
                   }));
  dropped_tree.groups = grouping.finish();
  return dropped_tree;
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

Stored<void> RocksEventLog::State::read_horizon() {
  const auto bytes = TRY(database->value(horizon_key));
  horizon = {};
  if (!bytes) return {};
  auto decoded = TRY(decode_horizon(*bytes));
  horizon = std::move(decoded);
  return compare_with_event(*database, horizon);
}

// Completes a drop of which a crash or an earlier failure left a part undone: removes bases that
// nothing refers to, and rewrites files that may still have erased bytes.
Stored<void> RocksEventLog::State::finish_drop() {
  std::vector<std::string> strays;
  auto read = database->values(base_prefix, base_prefix, [&](std::string_view key, auto) {
    const std::string current = std::string(base_prefix) + entry_key(horizon.dropped_at);
    if (horizon.position == 0 || !key.starts_with(current)) strays.emplace_back(key);
    return true;
  });
  if (!read) return read;
  if (strays.empty() && (horizon.position == 0 || horizon.files_rewritten)) return {};
  if (horizon.position > 0) {
    if (auto forgotten = database->purge_erased(horizon.position + 1); !forgotten) {
      return forgotten;
    }
    if (auto synced = sync_directory(log_directory(data)); !synced) return synced;
  }
  rocksdb::WriteBatch batch = RocksDatabase::batch(0);
  for (const std::string& key : strays) database->erase_value(batch, key);
  database->touch_entries(batch);
  if (horizon.position > 0) {
    horizon.files_rewritten = true;
    database->put_value(batch, horizon_key, encode_horizon(horizon));
  }
  const rocksdb::Status written = database->write(batch);
  if (!written.ok()) return tl::unexpected(database->error(written));
  last_sequence = database->last_sequence();
  return {};
}

Stored<void> RocksEventLog::drop(Position expected_tail, const Commit& commit,
                                 const HistoryDrop& drop) {
  State& state = *state_;
  SIGNALBOX_CHECK(state.writing == State::Writing::possible && expected_tail == state.tail);
  const auto* event = event_as<HistoryDropped>(commit.front().event);
  const bool renews = drop.renews(state.horizon);
  SIGNALBOX_CHECK(commit.size() == 1 && event != nullptr && event->horizon == drop.position &&
                  (drop.position > state.horizon.position || renews) &&
                  drop.position <= expected_tail);
  check_numbering(expected_tail, {&commit, 1});
  const auto located = [&state](const StoreError& error) {
    return tl::unexpected(state.located(error));
  };

  if (auto whole = require_whole_entries(*state.database, drop, expected_tail); !whole) {
    return located(whole.error());
  }
  auto dropped_tree = renews ? Stored<DroppedTree>(DroppedTree{state.horizon.frontier, {}})
                             : build_dropped_tree(*state.database, state.horizon, drop);
  if (!dropped_tree) return located(dropped_tree.error());
  Horizon next{drop.position,     dropped_tree->frontier, expected_tail + 1,
               sha256(drop.base), drop.base.size(),       false,
               drop.kept};
  if (event->root != merkle_root(next.frontier, state.sha256) || event->base != next.base_sha256) {
    return located(damaged_at(drop.position, "what is to be dropped isn't what was archived"));
  }

  const auto failed = [&state](const rocksdb::Status& status) {
    const StoreError error = state.database->error(status);
    static_cast<void>(state.failed(error));
    return tl::unexpected(error);
  };
  for (std::size_t index = 0; index * base_chunk_bytes < drop.base.size(); ++index) {
    rocksdb::WriteBatch chunk = RocksDatabase::batch(base_chunk_bytes);
    state.database->put_value(
        chunk, base_key(next.dropped_at, index),
        std::string_view(drop.base).substr(index * base_chunk_bytes, base_chunk_bytes));
    state.database->touch_entries(chunk);
    const rocksdb::Status written = state.database->write(chunk);
    if (!written.ok()) return failed(written);
    state.last_sequence = state.database->last_sequence();
  }

  MerkleFrontier frontier = state.frontier;
  std::string entry;
  encode_entry(commit, state.options.random, state.sha256, frontier, entry);
  rocksdb::WriteBatch batch = RocksDatabase::batch(entry.size());
  Position dropped_from = 1;
  for (const PositionRange& range : drop.kept) {
    if (dropped_from < range.first) {
      state.database->erase_entries(batch, dropped_from, range.first);
    }
    dropped_from = range.last + 1;
  }
  if (dropped_from <= drop.position) {
    state.database->erase_entries(batch, dropped_from, drop.position + 1);
  }
  for (const LeafGroup& group : dropped_tree->groups) {
    state.database->put_value(batch, group_key(group.number), encode_leaf_group(group));
  }
  state.database->put_value(batch, horizon_key, encode_horizon(next));
  state.database->put_entry(batch, commit.front().position, entry);
  std::string head;
  encode_head(frontier, head);
  state.database->put_head(batch, head);
  {
    // Readers must see either the records without the horizon or the horizon without the records.
    std::unique_lock exclusive(state.mutex);
    const rocksdb::Status written = state.database->write(batch);
    if (!written.ok()) {
      exclusive.unlock();  // failed() locks it
      return failed(written);
    }
    state.horizon = std::move(next);
  }
  static_cast<void>(state.wrote(std::move(frontier)));
  // The drop is durable. If its bytes can't be removed now, the next opening tries again.
  static_cast<void>(state.finish_drop());
  return {};
}

Horizon RocksEventLog::horizon() const {
  const std::shared_lock reading(state_->mutex);
  return state_->horizon;
}

Stored<std::string> RocksEventLog::base() const {
  const std::shared_lock reading(state_->mutex);
  if (state_->horizon.position == 0) return std::string();
  if (state_->database == nullptr) return tl::unexpected(state_->unreadable());
  auto base = read_base(*state_->database, state_->horizon);
  if (!base) return tl::unexpected(state_->located(base.error()));
  return base;
}

Stored<void> RocksEventLog::scan_groups(const VisitGroup& visit) const {
  const std::shared_lock reading(state_->mutex);
  if (state_->horizon.position == 0) return {};
  if (state_->database == nullptr) return tl::unexpected(state_->unreadable());
  auto read = read_groups(*state_->database, 0, [&visit](LeafGroup&& group) {
    visit(std::move(group));
    return true;
  });
  if (!read) return tl::unexpected(state_->located(read.error()));
  return {};
}

// Verifies that the stored hashes give the tree at the horizon, that each kept record has its
// original leaf, and that the base is complete.
Stored<void> RocksEventLog::State::verify_dropped() const {
  if (horizon.position == 0) return {};
  MerkleFrontier tree;
  Sha256 hashing;
  std::optional<StoreError> wrong;
  auto kept = horizon.kept.begin();
  auto read = read_groups(*database, 0, [&](LeafGroup&& group) {
    if (group.number * leaf_group_leaves != tree.leaves) {
      wrong = damaged_at(tree.leaves + 1, "the tree's hashes of dropped records have a gap");
      return false;
    }
    const Position first = tree.leaves + 1;
    append_group(tree, group, hashing);
    while (!group.is_root && kept != horizon.kept.end() && kept->first <= tree.leaves) {
      const Position from = std::max(kept->first, first);
      const Position to = std::min<Position>(kept->last, tree.leaves);
      auto walked = walk_entries(*database, from, to, [&](std::string_view entry, Position begin) {
        return for_each_frame(entry, begin, [&](const Frame& frame) -> Stored<bool> {
          if (frame.position > to) return false;
          if (frame.position >= from &&
              leaf_hash(frame, hashing) != group.hashes[frame.position - first]) {
            return tl::unexpected(damaged_at(frame.position, "it isn't the record that it was"));
          }
          return true;
        });
      });
      if (walked && *walked <= to) walked = tl::unexpected(damaged_at(*walked, "it is missing"));
      if (!walked) {
        wrong = walked.error();
        return false;
      }
      if (kept->last > tree.leaves) break;
      ++kept;
    }
    return true;
  });
  if (!read) return read;
  if (wrong) return tl::unexpected(std::move(*wrong));
  if (tree != horizon.frontier || kept != horizon.kept.end()) {
    return tl::unexpected(damaged_at(
        horizon.position, "the tree over what was dropped isn't the one that the horizon tells"));
  }
  return read_base(*database, horizon).map([](const std::string&) {});
}

}  // namespace signalbox
