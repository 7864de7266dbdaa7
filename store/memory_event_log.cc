#include "store/memory_event_log.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string>
#include <tuple>
#include <utility>

#include "domain/check.h"
#include "domain/try.h"
#include "store/entry.h"
#include "store/memory_log_state.h"
#include "store/merkle_tree.h"

namespace signalbox {
namespace {

RandomSource counting() {
  return [next = std::uint64_t{0}](std::span<std::byte> out) mutable {
    std::ranges::fill(out, std::byte{0});
    ++next;
    std::memcpy(out.data(), &next, std::min(out.size(), sizeof next));
  };
}

StoreError no_entry_at(Position begin) {
  return damaged_at(begin, "no entry of the log begins there");
}

}  // namespace

void MemoryEventLog::State::Kept::drop(const StagedDrop& staged, Position dropped_at) {
  const HistoryDrop& dropped = staged.drop;
  horizon = {dropped.position,    staged.frontier, dropped_at, staged.base_sha256,
             dropped.base.size(), staged.base_key, true,       dropped.kept};
  std::erase_if(entries, [this](const auto& entry) {
    return horizon.first_dropped(entry.first, entry.first).has_value();
  });
  base = dropped.base;
}

Stored<void> MemoryEventLog::State::require(Position position) const {
  if (position == 0 || position > kept.frontier.leaves) {
    return tl::unexpected(no_such_position(position, kept.frontier.leaves));
  }
  if (kept.horizon.first_dropped(position, position)) {
    return tl::unexpected(dropped_record(position, kept.horizon));
  }
  return {};
}

MemoryEventLog::MemoryEventLog() : MemoryEventLog(Options{}) {}
MemoryEventLog::MemoryEventLog(Options options) : state_(std::make_unique<State>()) {
  state_->options = std::move(options);
  if (!state_->options.random) state_->options.random = counting();
}
MemoryEventLog::~MemoryEventLog() = default;

Position MemoryEventLog::tail() const {
  const std::shared_lock lock(state_->mutex);
  return state_->kept.frontier.leaves;
}

AppendResult MemoryEventLog::append(Position expected_tail, std::span<const Commit> commits) {
  const std::unique_lock lock(state_->mutex);
  const Position tail = state_->kept.frontier.leaves;
  if (expected_tail != tail) return {AppendStatus::conflict, tail, {}};
  check_numbering(expected_tail, commits);
  if (commits.empty()) return {AppendStatus::ok, tail, {}};
  if (state_->broken) return {AppendStatus::unknown, tail, "an earlier append failed"};

  std::map<Position, KeptEntry> entries;
  MerkleFrontier frontier = state_->kept.frontier;
  for (const Commit& commit : commits) {
    entries[commit.front().position] =
        kept_entry(commit, state_->options.random, state_->sha256, frontier);
  }
  return state_->write([&](State::Kept& kept) {
    kept.entries.merge(entries);
    kept.frontier = std::move(frontier);
  });
}

void MemoryEventLog::restart() {
  const std::unique_lock lock(state_->mutex);
  if (state_->after_restart) state_->kept = *std::exchange(state_->after_restart, std::nullopt);
  state_->broken = false;
}

Stored<Position> MemoryEventLog::scan(Position from, Position to, const Visit& visit) const {
  Position next = std::max<Position>(from, 1);
  to = std::min(to, tail());
  const Horizon before = horizon();
  const auto dropped = before.first_dropped(next, to);
  if (dropped) to = *dropped - 1;
  Record record;
  bool wanted = true;
  const Visit noted = [&](Record&& each) { return wanted = visit(std::move(each)); };
  while (next <= to && wanted) {
    // Only the access to the map needs the lock.
    Position first = 0;
    KeptEntry entry;
    {
      const std::shared_lock lock(state_->mutex);
      // Dropped since the walk began.
      TRY(state_->require(next));
      std::tie(first, entry) = *std::prev(state_->kept.entries.upper_bound(next));
    }
    const auto end = TRY(scan_entry(*entry, first, next, to, record, noted));
    next = end.next;
  }
  if (dropped && wanted) return tl::unexpected(dropped_record(*dropped, before));
  return next - 1;
}

Stored<Position> MemoryEventLog::scan_entries(Position from, const VisitEntryBytes& visit) const {
  Position visited = from - 1;
  for (;;) {
    Position first = 0;
    KeptEntry entry;
    {
      const std::shared_lock lock(state_->mutex);
      const auto next = state_->kept.entries.lower_bound(visited + 1);
      if (next == state_->kept.entries.end()) return visited;
      std::tie(first, entry) = *next;
    }
    TRY(state_->require(first));
    if (!visit(*entry, first)) return visited;
    visited = first;
  }
}

Stored<Commit> MemoryEventLog::read_commit(Position position) const {
  const std::shared_lock lock(state_->mutex);
  TRY(state_->require(position));
  const auto place = std::prev(state_->kept.entries.upper_bound(position));
  return decode_entry(*place->second, place->first);
}

MerkleFrontier MemoryEventLog::frontier() const {
  const std::shared_lock lock(state_->mutex);
  return state_->kept.frontier;
}

Horizon MemoryEventLog::horizon() const {
  const std::shared_lock lock(state_->mutex);
  return state_->kept.horizon;
}

Stored<std::string> MemoryEventLog::base() const {
  const std::shared_lock lock(state_->mutex);
  return state_->kept.base;
}

Stored<StagedDrop> MemoryEventLog::stage_drop(HistoryDrop drop,
                                              const std::atomic<bool>* canceled) const {
  const std::shared_lock lock(state_->mutex);
  const State::Kept& kept = state_->kept;
  SIGNALBOX_CHECK((drop.position > kept.horizon.position || drop.renews(kept.horizon)) &&
                  drop.position <= kept.frontier.leaves);
  StagedDrop staged;
  staged.frontier = kept.horizon.frontier;
  Sha256 hashing;
  // Required by append_leaves(); a log in memory needs no check of redactions.
  RedactionLedger redactions;
  for (Position next = staged.frontier.leaves + 1; next <= drop.position;) {
    if (canceled != nullptr && *canceled) {
      return store_failure(StoreError::Kind::io, "reading what is dropped ended");
    }
    const auto entry = kept.entries.find(next);
    if (entry == kept.entries.end()) return tl::unexpected(no_entry_at(next));
    const auto end = TRY(append_leaves(*entry->second, next, next, drop.position, hashing,
                                       staged.frontier, redactions));
    if (end.stopped) return tl::unexpected(no_entry_at(end.next));
    next = end.next;
  }
  for (const PositionRange& range : drop.kept) {
    const Position after = range.last + 1;
    const bool ends = after > drop.position || kept.entries.contains(after) ||
                      kept.horizon.first_dropped(after, after);
    if (!kept.entries.contains(range.first)) return tl::unexpected(no_entry_at(range.first));
    if (!ends) return tl::unexpected(no_entry_at(after));
  }
  staged.base_sha256 = sha256(drop.base);
  staged.base_key = kept.frontier.leaves + 1;
  staged.dropped_at_before = kept.horizon.dropped_at;
  staged.drop = std::move(drop);
  return staged;
}

Stored<bool> MemoryEventLog::store_base_part(StagedDrop& staged) {
  const std::unique_lock lock(state_->mutex);
  if (state_->broken) return store_failure(StoreError::Kind::io, "an earlier append failed");
  staged.base_parts = 1;
  return false;
}

Stored<AppendResult> MemoryEventLog::commit_drop(Position expected_tail, const Commit& commit,
                                                 const StagedDrop& staged) {
  const std::unique_lock lock(state_->mutex);
  const HistoryDrop& drop = staged.drop;
  const Position tail = state_->kept.frontier.leaves;
  const auto* event = event_as<HistoryDropped>(commit.front().event);
  SIGNALBOX_CHECK(commit.size() == 1 && event != nullptr && event->horizon == drop.position);
  SIGNALBOX_CHECK(staged.dropped_at_before == state_->kept.horizon.dropped_at);
  SIGNALBOX_CHECK(staged.base_parts == 1 || drop.base.empty());
  if (expected_tail != tail) return AppendResult{AppendStatus::conflict, tail, {}};
  check_numbering(expected_tail, {&commit, 1});
  TRY(require_drop_of(*event, staged));
  return state_->write([&](State::Kept& kept) {
    kept.drop(staged, expected_tail + 1);
    kept.due_drops.clear();
    kept.entries[commit.front().position] =
        kept_entry(commit, state_->options.random, state_->sha256, kept.frontier);
  });
}

std::vector<Position> MemoryEventLog::due_drops() const {
  const std::shared_lock lock(state_->mutex);
  return state_->kept.due_drops;
}

Stored<void> MemoryEventLog::commit_due_drop(const StagedDrop& staged, Position dropped_at) {
  const auto commit = TRY(read_commit(dropped_at));
  const auto* event = event_as<HistoryDropped>(commit.front().event);
  if (event == nullptr) return tl::unexpected(no_entry_at(dropped_at));
  TRY(require_drop_of(*event, staged));
  const std::unique_lock lock(state_->mutex);
  const std::vector<Position>& due = state_->kept.due_drops;
  if (std::ranges::find(due, dropped_at) == due.end() ||
      staged.dropped_at_before != state_->kept.horizon.dropped_at) {
    return store_failure(StoreError::Kind::rebuilding, "the drop isn't due any more");
  }
  const AppendResult result = state_->write([&](State::Kept& kept) {
    kept.drop(staged, dropped_at);
    std::erase_if(kept.due_drops, [=](Position each) { return each <= dropped_at; });
  });
  if (result.status == AppendStatus::ok) return {};
  const bool is_full = result.status == AppendStatus::full;
  return store_failure(is_full ? StoreError::Kind::full : StoreError::Kind::io, result.message);
}

Stored<void> MemoryEventLog::purge_dropped(std::atomic<bool>* /*canceled*/) const { return {}; }

Stored<void> MemoryEventLog::note_purged() { return {}; }

Stored<void> MemoryEventLog::drop(Position expected_tail, const Commit& commit,
                                  const HistoryDrop& drop) {
  SIGNALBOX_CHECK(expected_tail == tail());
  auto staged = TRY(stage_drop(drop, nullptr));
  TRY(store_base_part(staged));
  const auto result = TRY(commit_drop(expected_tail, commit, staged));
  if (result.status == AppendStatus::ok) return {};
  const bool is_full = result.status == AppendStatus::full;
  return store_failure(is_full ? StoreError::Kind::full : StoreError::Kind::io, result.message);
}

}  // namespace signalbox
