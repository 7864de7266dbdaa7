// How a RocksEventLog reads and verifies what it keeps of dropped records.
#include <algorithm>

#include "domain/try.h"
#include "store/dropped_values.h"
#include "store/entry.h"
#include "store/little_endian.h"
#include "store/merkle_tree.h"
#include "store/rocks_log_state.h"

namespace signalbox {
namespace {

Stored<std::string> read_base(const RocksDatabase& database, const Horizon& horizon) {
  std::string base;
  base.reserve(horizon.base_bytes);
  const std::string prefix = base_parts_prefix(horizon.base_key);
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

// The horizon isn't covered by the tree, so it must match the event that it names, which is. So
// must the base, unless it `is_unrecorded`: what is due proves that then.
Stored<void> compare_with_event(const RocksDatabase& database, const Horizon& horizon,
                                bool is_unrecorded) {
  const auto entry = TRY(database.entry_of(horizon.dropped_at));
  const auto commit = TRY(decode_entry(entry.bytes, entry.first));
  Sha256 sha256;
  const auto* event = event_as<HistoryDropped>(commit.front().event);
  if (entry.first == horizon.dropped_at && event != nullptr && event->horizon == horizon.position &&
      event->root == merkle_root(horizon.frontier, sha256) &&
      (is_unrecorded || event->base == horizon.base_sha256)) {
    return {};
  }
  return tl::unexpected(damaged_at(
      horizon.dropped_at, "the horizon isn't the one that the log's HistoryDropped tells"));
}

}  // namespace

std::string base_parts_prefix(Position key) { return std::string(base_prefix) + entry_key(key); }
std::string base_part_key(Position key, std::uint64_t index) {
  return base_parts_prefix(key) + entry_key(index);
}
std::string group_key(std::uint64_t number) {
  return std::string(group_prefix) + entry_key(number);
}

std::string encode_due_positions(const std::vector<Position>& due) {
  std::string bytes;
  for (const Position position : due) append_integer(bytes, position);
  return bytes;
}

Stored<std::vector<Position>> decode_due_positions(std::string_view bytes) {
  std::vector<Position> due;
  for (; bytes.size() >= sizeof(Position); bytes.remove_prefix(sizeof(Position))) {
    due.push_back(read_integer<Position>(bytes.data()));
  }
  if (bytes.empty() && std::ranges::is_sorted(due)) return due;
  return store_failure(StoreError::Kind::damaged,
                       "what is noted of drops or redactions that are due isn't that");
}

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

Stored<void> RocksEventLog::State::read_horizon() {
  const auto bytes = TRY(database->value(horizon_key));
  horizon = {};
  const auto read_positions = [this](std::string_view key) -> Stored<std::vector<Position>> {
    const auto noted = TRY(database->value(key));
    return noted ? decode_due_positions(*noted) : std::vector<Position>();
  };
  due_drops = TRY(read_positions(due_drops_key));
  redactions.due = TRY(read_positions(due_redactions_key));
  redactions.awaited = TRY(read_positions(awaited_redactions_key));
  const auto latest = TRY(read_positions(latest_redaction_key));
  redactions.latest = latest.empty() ? 0 : latest.front();
  if (!bytes) return {};
  auto decoded = TRY(decode_horizon(*bytes));
  horizon = std::move(decoded);
  const bool is_noted = TRY(database->value(unrecorded_base_key)).has_value();
  return compare_with_event(*database, horizon, is_noted && !due_drops.empty());
}

std::vector<Position> RocksEventLog::due_drops() const {
  const std::shared_lock consistent(state_->horizon_mutex);
  return state_->due_drops;
}

Horizon RocksEventLog::horizon() const {
  const std::shared_lock consistent(state_->horizon_mutex);
  return state_->horizon;
}

Stored<std::string> RocksEventLog::base() const {
  const std::shared_lock reading(state_->mutex);
  for (;;) {
    const Horizon seen = horizon();
    if (seen.position == 0) return std::string();
    if (state_->database == nullptr) return tl::unexpected(state_->unreadable());
    auto base = read_base(*state_->database, seen);
    if (base) return base;
    // The base may have been replaced meanwhile.
    if (horizon().base_key == seen.base_key) return tl::unexpected(state_->located(base.error()));
  }
}

Stored<void> RocksEventLog::scan_groups(const VisitGroup& visit) const {
  const std::shared_lock reading(state_->mutex);
  const std::shared_lock consistent(state_->horizon_mutex);
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
