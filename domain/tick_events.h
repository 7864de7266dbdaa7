// Events of a loop's ticks. They lie in the loop's stream, `tick/<loop>`. The transition table is
// in tick.h.
#pragma once

#include <cstdint>
#include <variant>

#include <boost/describe/class.hpp>

#include "domain/event_parts.h"
#include "domain/ids.h"

namespace signalbox {

// A tick begins. The position of this event is its token.
struct TickStarted {
  static constexpr EventTag tag{501, 2, "TickStarted"};
  KeptText loop;
  FreeText stage;
  FreeText reason;
  std::int64_t lease_ms = 0;
  RunId run_id{};             // the run that the tick drives, or nil
  KeptText run_root;          // directory of its marker file, or empty
  Token lock_token = 0;       // of the lock that it depends on, or 0
  std::int64_t due_ns = 0;    // UTC; due time of the loop's schedule; 0: the tick was triggered
  Digest policy_digest = {};  // of all policies in force for the tick; else zero

  friend bool operator==(const TickStarted&, const TickStarted&) = default;
};
BOOST_DESCRIBE_STRUCT(TickStarted, (),
                      (loop, stage, reason, lease_ms, run_id, run_root, lock_token, due_ns,
                       policy_digest))

struct TickSucceeded {
  static constexpr EventTag tag{502, 1, "TickSucceeded"};
  KeptText loop;
  Token token = 0;
  KeptText run_root;

  friend bool operator==(const TickSucceeded&, const TickSucceeded&) = default;
};
BOOST_DESCRIBE_STRUCT(TickSucceeded, (), (loop, token, run_root))

struct TickFailed {
  static constexpr EventTag tag{503, 1, "TickFailed"};
  KeptText loop;
  Token token = 0;
  KeptText code;  // e.g. FAILED, LOCK_LOST
  FreeText error;
  KeptText run_root;

  friend bool operator==(const TickFailed&, const TickFailed&) = default;
};
BOOST_DESCRIBE_STRUCT(TickFailed, (), (loop, token, code, error, run_root))

// A tick was due and didn't begin.
struct TickSkipped {
  static constexpr EventTag tag{504, 2, "TickSkipped"};
  KeptText loop;
  FreeText stage;
  KeptText reason;          // "tick_in_progress"
  Token token = 0;          // of the tick in progress, or 0: the log doesn't know it
  std::int64_t due_ns = 0;  // as in TickStarted

  friend bool operator==(const TickSkipped&, const TickSkipped&) = default;
};
BOOST_DESCRIBE_STRUCT(TickSkipped, (), (loop, stage, reason, token, due_ns))

// A begin found that the previous tick has no end: the loop halts until it is recovered.
struct TickIncompleteDetected {
  static constexpr EventTag tag{505, 1, "TickIncompleteDetected"};
  KeptText loop;
  FreeText stage;   // of the incomplete tick
  Token token = 0;  // of the incomplete tick; 0: only a marker file is known of it
  RunId run_id{};
  KeptText run_root;
  KeptText marker_path;
  FreeText marker;                  // text of the marker file, cut to fit
  std::int64_t marker_age_ms = -1;  // -1: unknown
  std::int64_t stale_after_ms = 0;  // the lease, or the age at which a foreign marker is stale
  KeptText evidence;                // "lease_over", "earlier_incarnation", "foreign_marker", …
  std::int64_t started_at_ns = 0;   // UTC; 0: unknown

  friend bool operator==(const TickIncompleteDetected&, const TickIncompleteDetected&) = default;
};
BOOST_DESCRIBE_STRUCT(TickIncompleteDetected, (),
                      (loop, stage, token, run_id, run_root, marker_path, marker, marker_age_ms,
                       stale_after_ms, evidence, started_at_ns))

// Somebody, or the service for one of its own loops, recovered the loop.
struct TickRecovered {
  static constexpr EventTag tag{506, 1, "TickRecovered"};
  KeptText loop;
  Token token = 0;
  FreeText reason;
  KeptText run_root;

  friend bool operator==(const TickRecovered&, const TickRecovered&) = default;
};
BOOST_DESCRIBE_STRUCT(TickRecovered, (), (loop, token, reason, run_root))

// The lease of a tick ended and the tick didn't; the watchdog detected it.
struct TickTimedOut {
  static constexpr EventTag tag{507, 1, "TickTimedOut"};
  KeptText loop;
  Token token = 0;
  FreeText stage;
  std::int64_t elapsed_ms = 0;
  std::int64_t timeout_ms = 0;
  std::int64_t timer_origin_ns = 0;  // UTC
  RunId run_id{};
  KeptText run_root;

  friend bool operator==(const TickTimedOut&, const TickTimedOut&) = default;
};
BOOST_DESCRIBE_STRUCT(TickTimedOut, (),
                      (loop, token, stage, elapsed_ms, timeout_ms, timer_origin_ns, run_id,
                       run_root))

// Due times of the loop's schedule passed while no tick could begin.
struct TickMissed {
  static constexpr EventTag tag{508, 1, "TickMissed"};
  KeptText loop;
  KeptText reason;                // "server down", "asleep", "late", "wall clock set"
  std::uint64_t missed = 0;       // number of due times
  std::int64_t first_due_ns = 0;  // UTC
  std::int64_t last_due_ns = 0;   // UTC

  friend bool operator==(const TickMissed&, const TickMissed&) = default;
};
BOOST_DESCRIBE_STRUCT(TickMissed, (), (loop, reason, missed, first_due_ns, last_due_ns))

using TickEvents = std::variant<TickStarted, TickSucceeded, TickFailed, TickSkipped,
                                TickIncompleteDetected, TickRecovered, TickTimedOut, TickMissed>;
using TickEvent = OneOf<TickEvents>;

}  // namespace signalbox
