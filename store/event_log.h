// The event log: the single source of truth. An ordered, durable, append-only sequence of records.
//
// There are two implementations, RocksEventLog (embedded) and MemoryEventLog (tests, simulation);
// both pass one conformance suite (tests/store/event_log_conformance_test.cc). Because append() is
// a compare-and-set on the tail, a shared log that fences a deposed writer could be added.
#pragma once

#include <atomic>
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

// The records of one command, at least one, at consecutive positions. Written completely or not at
// all.
using Commit = std::vector<Record>;

enum class AppendStatus {
  ok,        // durable
  conflict,  // the tail isn't the expected one: another writer appended; nothing was written
  unknown,   // the write failed: the records may or may not be there after a restart
  full,      // no space left; nothing was written
};

struct AppendResult {
  AppendStatus status = AppendStatus::ok;
  Position tail = 0;    // of the log after the call
  std::string message;  // the reason, for unknown and full
};

// A redaction: the event that replaces a stored one with some of its texts erased, and the record
// that documents it.
struct Redaction {
  Position position = 0;  // of the record that is redacted
  Event replacement;
  // has a PayloadRedacted event
  Record note;
};

class EventLog {
 public:
  EventLog() = default;
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;
  virtual ~EventLog() = default;

  // Returns the position of the last durable record; 0 for an empty log. Any thread.
  [[nodiscard]] virtual Position tail() const = 0;

  // Appends the commits atomically and durably. Their records must be numbered from expected_tail +
  // 1. Blocks until they are durable. One thread at a time.
  virtual AppendResult append(Position expected_tail, std::span<const Commit> commits) = 0;

  // Calls `visit` with each record at from, from + 1, … up to and including min(to, tail()), until
  // it returns false. Every record is checked before the visit. Returns the position of the last
  // record visited (from - 1 for none). Fails with `damaged`, or with `dropped` on reaching the
  // first record that was dropped. Any thread.
  using Visit = std::function<bool(Record&&)>;
  virtual Stored<Position> scan(Position from, Position to, const Visit& visit) const = 0;

  // Returns at most `limit` records from `from` on; errors as scan(). Any thread.
  [[nodiscard]] Stored<std::vector<Record>> read(Position from, std::size_t limit) const;

  // Returns the whole commit that the record at `position` belongs to. Fails with `not_found` past
  // the tail, and with `dropped`.
  [[nodiscard]] virtual Stored<Commit> read_commit(Position position) const = 0;

  // Replaces the event at `redaction.position` and appends `redaction.note` as one atomic write.
  // The note is numbered expected_tail + 1 and has a PayloadRedacted, whose digests are set here.
  // The tree over the earlier records doesn't change. Both events must be of one type. No other use
  // of the log may run meanwhile. Fails with `damaged` or `not_found`; otherwise the result is as
  // of append().
  virtual Stored<AppendResult> redact(Position expected_tail, const Redaction& redaction) = 0;

  // Returns the Merkle tree over all records up to tail(). Must not run concurrently with append().
  [[nodiscard]] virtual MerkleFrontier frontier() const = 0;

  // Returns the horizon, up to which records were dropped. Any thread.
  [[nodiscard]] virtual Horizon horizon() const { return {}; }
  // Returns the base that drop() was given for the dropped records; empty if nothing was dropped.
  // Any thread.
  [[nodiscard]] virtual Stored<std::string> base() const { return std::string(); }

  // Appends `commit`, which is one HistoryDropped, and drops the records it names, as one atomic
  // and durable step. The event's root must be that of the tree up to the drop's position, and its
  // base the digest of the drop's base; otherwise fails with `damaged` and changes nothing.
  // `drop.kept` must consist of whole entries that were kept before or lie behind the old horizon.
  // A drop at the present horizon that keeps the same entries drops nothing: it renews the base,
  // after texts were erased from it.
  // Like append(), one thread at a time; after `io` the outcome is unknown until a restart.
  virtual Stored<void> drop(Position expected_tail, const Commit& commit, const HistoryDrop& drop);
};

// Returns when the record at `position`, which the log must hold, was written; ns since the epoch,
// UTC.
Stored<std::int64_t> recorded_at(const EventLog& log, Position position);

// Returns the position of the last record that was written at `utc_ns` or before; 0 if there is
// none. Uses binary search: if the clock was set back while the log was written, several positions
// qualify and any one of them is returned.
Stored<Position> position_at(const EventLog& log, std::int64_t utc_ns);

// A view of a log, for reading. Refers to the log, which outlives it, and does as that one does but
// for what a derived view overrides.
class ReadOnlyLog : public EventLog {
 public:
  explicit ReadOnlyLog(const EventLog& log) : log_(log) {}

  [[nodiscard]] Position tail() const override { return log_.tail(); }
  Stored<Position> scan(Position from, Position to, const Visit& visit) const override {
    return log_.scan(from, to, visit);
  }
  [[nodiscard]] Stored<Commit> read_commit(Position position) const override {
    return log_.read_commit(position);
  }
  [[nodiscard]] Horizon horizon() const override { return log_.horizon(); }
  [[nodiscard]] Stored<std::string> base() const override { return log_.base(); }

  // Fail: nothing is written to a view.
  AppendResult append(Position expected_tail, std::span<const Commit> commits) final;
  Stored<AppendResult> redact(Position expected_tail, const Redaction& redaction) final;
  // Aborts (CHECK): the tree is that of the log, which may have more records, or others.
  [[nodiscard]] MerkleFrontier frontier() const override;

 protected:
  const EventLog& log_;
};

// A view for long work beside a service, that ends once the service stops. `stopped` outlives it.
class InterruptibleLog final : public ReadOnlyLog {
 public:
  InterruptibleLog(const EventLog& log, const std::atomic<bool>& stopped)
      : ReadOnlyLog(log), stopped_(stopped) {}

  // Fails with `io` once `stopped` is set.
  Stored<Position> scan(Position from, Position to, const Visit& visit) const override;
  [[nodiscard]] MerkleFrontier frontier() const override { return log_.frontier(); }

 private:
  const std::atomic<bool>& stopped_;
};

}  // namespace signalbox
