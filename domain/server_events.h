// Events of the service itself: its incarnations (one per process lifetime), crash recovery, clock
// jumps, pruning, dropped history and pauses. They lie in the stream `server`.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>

#include "domain/event_parts.h"
#include "domain/ids.h"

namespace signalbox {

// How the previous incarnation ended. Stored as a number: append only.
enum class PreviousEnd : std::uint8_t { none = 1, clean = 2, crashed = 3 };
BOOST_DESCRIBE_ENUM(PreviousEnd, none, clean, crashed)

struct ServerStarted {
  static constexpr EventTag tag{101, 1, "ServerStarted"};
  std::uint64_t incarnation = 0;
  KeptText version;
  PreviousEnd previous = PreviousEnd::none;

  friend bool operator==(const ServerStarted&, const ServerStarted&) = default;
};
BOOST_DESCRIBE_STRUCT(ServerStarted, (), (incarnation, version, previous))

struct ServerStopped {
  static constexpr EventTag tag{102, 1, "ServerStopped"};
  std::uint64_t incarnation = 0;

  friend bool operator==(const ServerStopped&, const ServerStopped&) = default;
};
BOOST_DESCRIBE_STRUCT(ServerStopped, (), (incarnation))

// The verdict on an item that was in flight at a crash. Stored as a number: append only.
enum class Verdict : std::uint8_t { poll = 1, requeue = 2, expired = 3, needs_operator = 4 };
BOOST_DESCRIBE_ENUM(Verdict, poll, requeue, expired, needs_operator)

enum class RecoveredKind : std::uint8_t {
  claim = 1,
  job = 2,
  lock = 3,
  tick = 4,
  step = 5,
  card = 6
};
BOOST_DESCRIBE_ENUM(RecoveredKind, claim, job, lock, tick, step, card)

// One item that was in flight at a crash, the evidence about it, and the verdict.
struct RecoveredItem {
  RecoveredKind kind = RecoveredKind::claim;
  KeptText name;  // run/station, job id, lock key, loop, run/station/step, card id
  Token token = 0;
  Verdict verdict = Verdict::poll;
  FreeText evidence;  // one sentence

  friend bool operator==(const RecoveredItem&, const RecoveredItem&) = default;
};
BOOST_DESCRIBE_STRUCT(RecoveredItem, (), (kind, name, token, verdict, evidence))

// Recovery after a crash is complete: each item that was in flight has its verdict, and serving
// begins.
struct RecoveryFinished {
  static constexpr EventTag tag{103, 1, "RecoveryFinished"};
  std::uint64_t incarnation = 0;
  std::uint64_t last_durable_position = 0;  // of the log as the crash left it
  std::uint64_t torn_bytes = 0;             // incomplete bytes cut off behind that position
  std::uint64_t items_total = 0;
  std::vector<RecoveredItem>
      items;      // the first limits::recovered_items_max; more are in the report
  Digest report;  // of the crash report, an artifact

  friend bool operator==(const RecoveryFinished&, const RecoveryFinished&) = default;
};
BOOST_DESCRIBE_STRUCT(RecoveryFinished, (),
                      (incarnation, last_durable_position, torn_bytes, items_total, items, report))

// The wall clock and the monotonic clock diverged: the machine slept or was paused, or the time was
// set. All deadlines start anew.
struct ClockJumped {
  static constexpr EventTag tag{104, 1, "ClockJumped"};
  std::int64_t wall_ms = 0;       // elapsed on the wall clock since the last comparison
  std::int64_t monotonic_ms = 0;  // elapsed on the monotonic clock, which leases run on
  KeptText cause;                 // "wall clock set", "stopped"

  friend bool operator==(const ClockJumped&, const ClockJumped&) = default;
};
BOOST_DESCRIBE_STRUCT(ClockJumped, (), (wall_ms, monotonic_ms, cause))

// Runs that ended long ago were dropped from the world. Those with an idempotency key stay in it.
struct RunsPruned {
  static constexpr EventTag tag{105, 1, "RunsPruned"};
  Position through = 0;    // the dropped runs ended at this position or before
  std::uint64_t runs = 0;  // number of dropped runs

  friend bool operator==(const RunsPruned&, const RunsPruned&) = default;
};
BOOST_DESCRIBE_STRUCT(RunsPruned, (), (through, runs))

// Records older than the retention policy were moved from the log to an archive. The log keeps the
// state that they led to, as a base, and each record's leaf in the Merkle tree.
struct HistoryDropped {
  static constexpr EventTag tag{106, 2, "HistoryDropped"};
  Position horizon = 0;            // the log has all records after this position
  Position from = 0;               // first position in this archive; earlier archives precede it
  std::uint64_t records = 0;       // number of records up to the horizon that were dropped
  std::uint64_t records_kept = 0;  // number kept up to the horizon: what they concern was open
  std::int64_t older_than_ms = 0;  // the policy
  KeptText archive;                // path of the archive
  KeptText origin;                 // name of the log in the archive's checkpoint
  Digest root;                     // of the tree over 1 … horizon, as in that checkpoint
  Digest base;                     // of the base: the state that the dropped records led to
  // UTC: runs that failed later and can be retried were kept. 0 in events of earlier versions,
  // which don't say it. Replicas of the log need it to drop the same.
  std::int64_t failed_until_ns = 0;

  friend bool operator==(const HistoryDropped&, const HistoryDropped&) = default;
};
BOOST_DESCRIBE_STRUCT(HistoryDropped, (),
                      (horizon, from, records, records_kept, older_than_ms, archive, origin, root,
                       base, failed_until_ns))

// A projection was damaged and has been computed from the log again. No state changes: this reports
// whoever reads the log that answers were refused meanwhile, and why.
struct ProjectionRebuilt {
  static constexpr EventTag tag{107, 1, "ProjectionRebuilt"};
  KeptText projection;       // "read_models"
  KeptText reason;           // how the damage was noticed, with the file
  Position through = 0;      // what was computed again is complete up to this position
  std::int64_t took_ms = 0;  // from noticing the damage on

  friend bool operator==(const ProjectionRebuilt&, const ProjectionRebuilt&) = default;
};
BOOST_DESCRIBE_STRUCT(ProjectionRebuilt, (), (projection, reason, through, took_ms))

// No station's attempt, card's run or merge begins until the service is resumed; attempts under way
// finish. A pause outlasts restarts.
struct ServicePaused {
  static constexpr EventTag tag{108, 1, "ServicePaused"};
  FreeText reason;

  friend bool operator==(const ServicePaused&, const ServicePaused&) = default;
};
BOOST_DESCRIBE_STRUCT(ServicePaused, (), (reason))

struct ServiceResumed {
  static constexpr EventTag tag{109, 1, "ServiceResumed"};
  FreeText reason;

  friend bool operator==(const ServiceResumed&, const ServiceResumed&) = default;
};
BOOST_DESCRIBE_STRUCT(ServiceResumed, (), (reason))

// A server of a cell has taken the log, which it writes from its ServerStarted on.
struct CellTaken {
  static constexpr EventTag tag{110, 1, "CellTaken"};
  KeptText cell;
  KeptText server;  // its name in the cell
  std::uint64_t epoch = 0;
  KeptText cause;  // one sentence: why it was taken

  friend bool operator==(const CellTaken&, const CellTaken&) = default;
};
BOOST_DESCRIBE_STRUCT(CellTaken, (), (cell, server, epoch, cause))

using ServerEvents =
    std::variant<ServerStarted, ServerStopped, RecoveryFinished, ClockJumped, RunsPruned,
                 HistoryDropped, ProjectionRebuilt, ServicePaused, ServiceResumed, CellTaken>;
using ServerEvent = OneOf<ServerEvents>;

}  // namespace signalbox
