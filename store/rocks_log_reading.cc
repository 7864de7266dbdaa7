// The read operations of a RocksEventLog, which any thread may call while another one appends.
#include <algorithm>

#include "domain/try.h"
#include "store/entry.h"
#include "store/redaction.h"
#include "store/rocks_log_state.h"

namespace signalbox {
namespace {

// Counts the walks that are under way on this thread. A visitor may read the log, too: if an inner
// walk let go, it would wait for somebody who waits for the outer one.
thread_local int walks_of_thread = 0;

class WalkOfThread {
 public:
  WalkOfThread() { ++walks_of_thread; }
  ~WalkOfThread() { --walks_of_thread; }
  WalkOfThread(const WalkOfThread&) = delete;
  WalkOfThread& operator=(const WalkOfThread&) = delete;

  [[nodiscard]] static bool is_outermost() { return walks_of_thread == 1; }
};

}  // namespace

RocksEventLog::State::Exclusive::Exclusive(State& state)
    : turn_(state.turn_mutex), wanted_(state.exclusive_wanted) {
  wanted_ = true;
  lock_ = std::unique_lock(state.mutex);
}

// Errors from within an entry don't know the file that the entry is in.
StoreError RocksEventLog::State::located(StoreError error) const {
  if (error.file.empty()) {
    error.file = log_directory(data).string();
    error.message = "the log in " + error.file + ", record " + std::to_string(error.position) +
                    ": " + error.message;
  }
  return error;
}

StoreError RocksEventLog::State::unreadable() const {
  StoreError error;
  error.kind = StoreError::Kind::io;
  error.message = "the log in " + data.string() + " is closed: it couldn't be opened again";
  error.file = log_directory(data).string();
  return error;
}

// A walk that lets go sees the log as it is when it goes on, with what was dropped meanwhile.
Stored<Position> RocksEventLog::State::walk(Position from, Position to, const bool& wanted,
                                            const WalkEntry& visit) const {
  from = std::max<Position>(from, 1);
  to = std::min<Position>(to, tail);
  if (from > to) return from - 1;
  const WalkOfThread walk_of_thread;
  for (;;) {
    const auto step = TRY(walk_until_wanted(from, to, wanted, WalkOfThread::is_outermost(), visit));
    if (!step.has_let_go) return step.last;
    from = step.last + 1;
    const std::lock_guard turn(turn_mutex);  // until the database is open again
  }
}

// Walks up to the first dropped record, on the log as it is when the walk begins. Fails with
// `dropped` there if the visitor still wants more
// (`wanted`).
Stored<RocksEventLog::State::WalkStep> RocksEventLog::State::walk_until_wanted(
    Position from, Position to, const bool& wanted, bool may_let_go, const WalkEntry& visit) const {
  const std::shared_lock reading(mutex);
  if (database == nullptr) return tl::unexpected(unreadable());
  std::optional<Position> dropped;
  std::optional<StoreError> at_dropped;
  std::unique_ptr<rocksdb::Iterator> entries;
  {
    // A drop that comes later doesn't concern this walk: the iterator still sees its records.
    const std::shared_lock consistent(horizon_mutex);
    dropped = horizon.first_dropped(from, to);
    if (dropped) at_dropped = dropped_record(*dropped, horizon);
    entries = database->entries(to - from + 1);
  }
  if (dropped) to = *dropped - 1;
  WalkStep step{from - 1, false};
  if (from <= to) {
    const auto visit_or_let_go = [&](std::string_view entry, Position first) -> Stored<EntryEnd> {
      step.has_let_go = may_let_go && exclusive_wanted;
      if (step.has_let_go) return EntryEnd{0, true};
      return visit(entry, first, from, to);
    };
    const auto next = walk_entries(*database, *entries, from, to, visit_or_let_go);
    if (!next) return tl::unexpected(located(next.error()));
    step.last = *next - 1;
  }
  if (step.has_let_go) return step;
  if (dropped && wanted && step.last == to) return tl::unexpected(*std::move(at_dropped));
  return step;
}

Stored<Position> RocksEventLog::scan(Position from, Position to, const Visit& visit) const {
  Record record;
  bool wanted = true;
  const Visit noted = [&](Record&& each) { return wanted = visit(std::move(each)); };
  return state_->walk(from, to, wanted,
                      [&](std::string_view entry, Position first, Position begin, Position end) {
                        return scan_entry(entry, first, begin, end, record, noted);
                      });
}

Stored<Position> RocksEventLog::scan_frames(Position from, Position to,
                                            const VisitFrame& visit) const {
  bool wanted = true;
  return state_->walk(
      from, to, wanted, [&](std::string_view entry, Position first, Position begin, Position last) {
        auto end = for_each_frame(entry, first, [&](const Frame& frame) -> Stored<bool> {
          if (frame.position < begin) return true;
          if (frame.position > last || !wanted) return false;
          wanted = visit(frame);
          return true;
        });
        if (end && !wanted) end->stopped = true;
        return end;
      });
}

Stored<Position> RocksEventLog::scan_entries(Position from, const VisitEntryBytes& visit) const {
  bool wanted = true;
  return state_->walk(
      from, tail(), wanted, [&](std::string_view entry, Position first, Position begin, Position) {
        auto end = for_each_frame(entry, first, [](const Frame&) -> Stored<bool> { return true; });
        if (!end || first < begin) return end;
        wanted = visit(entry, first);
        if (!wanted) *end = {first, true};
        return end;
      });
}

Stored<RocksDatabase::Entry> RocksEventLog::State::entry_with(Position position) const {
  if (position == 0 || position > tail) return tl::unexpected(no_such_position(position, tail));
  const std::shared_lock reading(mutex);
  if (database == nullptr) return tl::unexpected(unreadable());
  const std::shared_lock consistent(horizon_mutex);
  if (horizon.first_dropped(position, position)) {
    return tl::unexpected(dropped_record(position, horizon));
  }
  auto entry = database->entry_of(position);
  if (!entry) return tl::unexpected(located(entry.error()));
  return entry;
}

Stored<Commit> RocksEventLog::read_commit(Position position) const {
  const State& state = *state_;
  const auto entry = TRY(state.entry_with(position));
  auto commit = decode_entry(entry.bytes, entry.first);
  if (!commit) return tl::unexpected(state.located(commit.error()));
  if (commit->back().position < position) {
    return tl::unexpected(state.located(damaged_at(position, "it is missing")));
  }
  return commit;
}

Stored<MerkleFrontier> RocksEventLog::verify(Position through) const {
  const State& state = *state_;
  const std::shared_lock reading(state.mutex);
  if (state.database == nullptr) return tl::unexpected(state.unreadable());
  const std::shared_lock consistent(state.horizon_mutex);
  TRY(state.database->verify_files());
  const auto head = state.database->head();
  if (!head) return head;
  through = std::min(through, head->leaves);

  if (through < state.horizon.position) {
    return tl::unexpected(dropped_record(through, state.horizon));
  }
  if (auto dropped = state.verify_dropped(); !dropped) {
    return tl::unexpected(state.located(dropped.error()));
  }

  Sha256 sha256;
  MerkleFrontier frontier = state.horizon.frontier;
  const Position from = frontier.leaves + 1;
  RedactionLedger redactions;
  for (const PositionRange& range : state.horizon.kept) {
    auto noted = note_redactions(*state.database, range, redactions);
    if (!noted) return tl::unexpected(state.located(noted.error()));
  }
  const auto walked =
      walk_entries(*state.database, from, through, [&](std::string_view entry, Position first) {
        return append_leaves(entry, first, from, through, sha256, frontier, redactions);
      });
  if (!walked) return tl::unexpected(state.located(walked.error()));
  if (frontier.leaves != through || (through == head->leaves && frontier != *head)) {
    return tl::unexpected(state.located(
        damaged_at(frontier.leaves, "the Merkle tree over the log isn't that of its head")));
  }
  // Events after `through` can redact records up to it, so all redactions are checked together.
  if (auto fits = check_redactions(*state.database, std::move(redactions), from, through + 1,
                                   state.horizon, state.redactions.awaited);
      !fits) {
    return tl::unexpected(state.located(fits.error()));
  }
  return frontier;
}

}  // namespace signalbox
