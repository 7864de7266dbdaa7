// The log: the only point of truth. An ordered, durable, append-only sequence of records.
//
// Two implementations from the first day, RocksEventLog (embedded) and MemoryEventLog (tests,
// simulation), pass one conformance suite (tests/store/event_log_conformance_test.cc). The
// compare-and-set on the tail leaves room for a shared log that fences a deposed writer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "domain/event.h"
#include "domain/ids.h"
#include "store/horizon.h"
#include "store/merkle_tree.h"
#include "store/store_error.h"

namespace signalbox {

// The records of one command, at least one, at consecutive positions. All of them or none.
using Commit = std::vector<Record>;

enum class AppendStatus {
  ok,        // durable
  conflict,  // somebody else appended: the tail isn't the expected one; nothing was written
  unknown,   // the write failed: it may or may not be there after a restart
  full,      // no space left; nothing was written
};

struct AppendResult {
  AppendStatus status = AppendStatus::ok;
  Position tail = 0;    // of the log, after the call
  std::string message;  // why, for unknown and full
};

// An event without some of its texts, and the record that is to tell of it.
struct Redaction {
  Position position = 0;  // whose
  Event replacement;
  Record note;
};

class EventLog {
 public:
  EventLog() = default;
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;
  virtual ~EventLog() = default;

  // The position of the last durable record; 0 for an empty log. Any thread.
  [[nodiscard]] virtual Position tail() const = 0;

  // Appends the commits, whose records are numbered from expected_tail + 1, atomically and durably.
  // One thread at a time.
  virtual AppendResult append(Position expected_tail, std::span<const Commit> commits) = 0;

  // Calls `visit` with each record at from, from + 1, … up to and including min(to, tail()), until
  // it returns false. Every record is checked before it is given. Any thread.
  // Gives the position of the last record visited (from - 1 for none), `damaged`, or `dropped` at
  // the first record that isn't there any more.
  using Visit = std::function<bool(Record&&)>;
  virtual Stored<Position> scan(Position from, Position to, const Visit& visit) const = 0;

  // At most `limit` records from `from` on. Any thread.
  [[nodiscard]] Stored<std::vector<Record>> read(Position from, std::size_t limit) const;

  // The whole commit that the record at `position` belongs to; `not_found` past the tail,
  // `dropped`.
  [[nodiscard]] virtual Stored<Commit> read_commit(Position position) const = 0;

  // Puts another event into the place of the one at `redaction.position` and appends the commit
  // that says so, in one: its record is numbered expected_tail + 1 and has a PayloadRedacted, whose
  // digests are set here. The tree over the records before stays as it was. Both events are of one
  // type. Nothing else uses the log meanwhile. `damaged`, or `not_found`; else as
  // append().
  virtual Stored<AppendResult> redact(Position expected_tail, const Redaction& redaction) = 0;

  // The Merkle tree over all records up to tail(). Not while append() runs.
  [[nodiscard]] virtual MerkleFrontier frontier() const = 0;

  // Up to where records were dropped. Any thread, as base().
  [[nodiscard]] virtual Horizon horizon() const { return {}; }
  // What stands for them, as drop() was given it; empty where nothing was dropped.
  [[nodiscard]] virtual Stored<std::string> base() const { return std::string(); }

  // Appends `commit`, one HistoryDropped, and drops what it tells, in one step and durably: after a
  // crash there is neither or both. The event's root has to be that of the tree up to the drop's
  // position, its base the digest of the drop's: else `damaged`, and nothing was done. What is kept
  // are whole entries, those that were kept before or lie behind the old horizon. As append(), one
  // thread at a time; `io` leaves the outcome unknown until a restart.
  virtual Stored<void> drop(Position expected_tail, const Commit& commit, const HistoryDrop& drop);
};

// When the record at `position`, which the log holds, was written; ns since the epoch, UTC.
Stored<std::int64_t> recorded_at(const EventLog& log, Position position);

// The position of the last record that was written at `utc_ns` or before; 0 if there is none. Where
// the clock was set back while the log was written, one of those moments is meant.
Stored<Position> position_at(const EventLog& log, std::int64_t utc_ns);

}  // namespace signalbox
