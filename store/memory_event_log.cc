#include "store/memory_event_log.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <utility>

#include "domain/check.h"
#include "domain/try.h"
#include "store/entry.h"
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

}  // namespace

struct MemoryEventLog::State {
  // The contents of the simulated disk: the entries by their first position, and the tree over
  // them.
  struct Kept {
    std::map<Position, std::string> entries;
    MerkleFrontier frontier;
    Horizon horizon;
    std::string base;
  };

  Options options;
  Sha256 sha256;
  mutable std::shared_mutex mutex;  // guards `kept`: scans run concurrently with appends
  Kept kept;
  std::optional<Kept> after_restart;  // what an append of unknown outcome wrote, for restart()
  bool broken = false;  // an append had an unknown outcome: none succeeds until restart()
  std::uint64_t appends = 0;
};

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

  std::map<Position, std::string> entries;
  MerkleFrontier frontier = state_->kept.frontier;
  for (const Commit& commit : commits) {
    encode_entry(commit, state_->options.random, state_->sha256, frontier,
                 entries[commit.front().position]);
  }
  std::optional<AppendFault> fault;
  if (state_->options.fault) fault = state_->options.fault(++state_->appends);
  if (fault && fault->status == AppendStatus::full) {
    return {AppendStatus::full, tail, "no space left, as the test wishes"};
  }
  if (fault) {
    SIGNALBOX_CHECK(fault->status == AppendStatus::unknown);
    state_->broken = true;
    if (fault->written) {
      state_->after_restart = state_->kept;
      state_->after_restart->entries.merge(entries);
      state_->after_restart->frontier = std::move(frontier);
    }
    return {AppendStatus::unknown, tail, "the write failed, as the test wishes"};
  }
  state_->kept.entries.merge(entries);
  state_->kept.frontier = std::move(frontier);
  return {AppendStatus::ok, state_->kept.frontier.leaves, {}};
}

Stored<AppendResult> MemoryEventLog::redact(Position expected_tail, const Redaction& redaction) {
  std::pair<Position, std::string> replaced;
  Commit commit{redaction.note};
  {
    const std::shared_lock lock(state_->mutex);
    const Position tail = state_->kept.frontier.leaves;
    if (expected_tail != tail) return AppendResult{AppendStatus::conflict, tail, {}};
    if (redaction.position == 0 || redaction.position > tail) {
      return tl::unexpected(no_such_position(redaction.position, tail));
    }
    const auto entry = std::prev(state_->kept.entries.upper_bound(redaction.position));
    Salt salt;
    state_->options.random(salt);
    auto redacted = TRY(
        redact_entry(entry->second, entry->first, redaction.position, redaction.replacement, salt));
    set_digests(commit.front(), redacted);
    replaced = {entry->first, std::move(redacted.bytes)};
  }
  const AppendResult result = append(expected_tail, {&commit, 1});
  const std::unique_lock lock(state_->mutex);
  if (result.status == AppendStatus::ok) {
    state_->kept.entries[replaced.first] = std::move(replaced.second);
  } else if (state_->after_restart) {
    state_->after_restart->entries[replaced.first] = std::move(replaced.second);
  }
  return result;
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
    // Entries never change once they are written, and map nodes don't move, so only the map access
    // needs the lock.
    Position first = 0;
    std::string_view entry;
    {
      const std::shared_lock lock(state_->mutex);
      const auto place = std::prev(state_->kept.entries.upper_bound(next));
      first = place->first;
      entry = place->second;
    }
    const auto end = TRY(scan_entry(entry, first, next, to, record, noted));
    next = end.next;
  }
  if (dropped && wanted) return tl::unexpected(dropped_record(*dropped, before));
  return next - 1;
}

Stored<Commit> MemoryEventLog::read_commit(Position position) const {
  const std::shared_lock lock(state_->mutex);
  if (position == 0 || position > state_->kept.frontier.leaves) {
    return tl::unexpected(no_such_position(position, state_->kept.frontier.leaves));
  }
  if (state_->kept.horizon.first_dropped(position, position)) {
    return tl::unexpected(dropped_record(position, state_->kept.horizon));
  }
  const auto place = std::prev(state_->kept.entries.upper_bound(position));
  return decode_entry(place->second, place->first);
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

Stored<void> MemoryEventLog::drop(Position expected_tail, const Commit& commit,
                                  const HistoryDrop& drop) {
  const std::unique_lock lock(state_->mutex);
  State::Kept& kept = state_->kept;
  const auto* event = event_as<HistoryDropped>(commit.front().event);
  SIGNALBOX_CHECK(expected_tail == kept.frontier.leaves && commit.size() == 1 && event != nullptr &&
                  (drop.position > kept.horizon.position || drop.renews(kept.horizon)) &&
                  drop.position <= expected_tail && !state_->broken);
  check_numbering(expected_tail, {&commit, 1});
  MerkleFrontier frontier = kept.horizon.frontier;
  // Required by append_leaves(); a log in memory needs no check of redactions.
  RedactionLedger redactions;
  for (Position next = frontier.leaves + 1; next <= drop.position;) {
    const auto entry = kept.entries.find(next);
    if (entry == kept.entries.end()) {
      return tl::unexpected(damaged_at(next, "no entry of the log begins there"));
    }
    const auto end = TRY(append_leaves(entry->second, next, next, drop.position, state_->sha256,
                                       frontier, redactions));
    if (end.stopped) {
      return tl::unexpected(damaged_at(end.next, "no entry of the log begins there"));
    }
    next = end.next;
  }
  if (event->root != merkle_root(frontier, state_->sha256) || event->base != sha256(drop.base)) {
    return tl::unexpected(
        damaged_at(drop.position, "what is to be dropped isn't what was archived"));
  }
  Horizon next{drop.position,
               std::move(frontier),
               expected_tail + 1,
               event->base,
               drop.base.size(),
               expected_tail + 1,
               true,
               drop.kept};
  for (const PositionRange& range : next.kept) {
    for (const Position begin : {range.first, range.last + 1}) {
      if (begin == range.first ? !kept.entries.contains(begin)
                               : begin <= drop.position && !kept.entries.contains(begin) &&
                                     !kept.horizon.first_dropped(begin, begin)) {
        return tl::unexpected(damaged_at(begin, "no entry of the log begins there"));
      }
    }
  }
  std::erase_if(kept.entries, [&next](const auto& entry) {
    return next.first_dropped(entry.first, entry.first).has_value();
  });
  encode_entry(commit, state_->options.random, state_->sha256, kept.frontier,
               kept.entries[commit.front().position]);
  kept.horizon = std::move(next);
  kept.base = drop.base;
  return {};
}

}  // namespace signalbox
