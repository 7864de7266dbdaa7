// The state of a held lock, and its transition table.
//
// A free lock has no state here; an EndedLock remembers its last holder for a while.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>

#include "domain/event.h"
#include "domain/transition.h"

namespace signalbox {

enum class LockStatus : std::uint8_t { free = 1, held = 2 };
BOOST_DESCRIBE_ENUM(LockStatus, free, held)

using LockTransition = Transition<LockStatus>;

// The transition table, drawn in README.md. evolve() aborts on a pair that isn't in it.
inline constexpr std::array lock_transitions = {
    LockTransition{LockStatus::free, LockFileReplaced::tag, LockStatus::free},
    LockTransition{LockStatus::free, LockRefreshFailed::tag, LockStatus::free},
    LockTransition{LockStatus::free, LockAcquired::tag, LockStatus::held},
    LockTransition{LockStatus::held, LockRefreshed::tag, LockStatus::held},
    LockTransition{LockStatus::held, LockRefreshFailed::tag, LockStatus::held},
    LockTransition{LockStatus::held, LockReleased::tag, LockStatus::free},
    LockTransition{LockStatus::held, LockExpired::tag, LockStatus::free},
};

// Returns the status after the event of this number, or nullopt if the table has no such pair.
constexpr std::optional<LockStatus> next_status(LockStatus from, std::uint16_t event_number) {
  return next_in(lock_transitions, from, event_number);
}

struct Lock {
  std::string key;
  std::string owner;
  Token token = 0;
  std::int64_t lease_ms = 0;
  Position renewed_at = 0;  // position of the grant or the latest refresh
  std::int64_t acquired_at_ns = 0;
  std::int64_t expires_at_ns = 0;  // UTC, for people; the lease runs on the monotonic clock
  std::string reason;
  std::string run_root;
  // The dependents, sorted: runs whose attempt, and loops whose tick, fails with LOCK_LOST if the
  // lock is lost.
  std::vector<RunId> runs;
  std::vector<std::string> loops;
  // Owners whose current streak of failed refreshes is in the log already, see LockRefreshFailed.
  std::vector<std::string> failing_owners;

  friend bool operator==(const Lock&, const Lock&) = default;
};
BOOST_DESCRIBE_STRUCT(Lock, (),
                      (key, owner, token, lease_ms, renewed_at, acquired_at_ns, expires_at_ns,
                       reason, run_root, runs, loops, failing_owners))

// The remembered rest of a lock that was released or expired.
struct EndedLock {
  std::string owner;
  Token token = 0;
  Position ended_at = 0;  // position of its LockReleased or LockExpired
  bool expired = false;
  std::vector<std::string> failing_owners;

  friend bool operator==(const EndedLock&, const EndedLock&) = default;
};
BOOST_DESCRIBE_STRUCT(EndedLock, (), (owner, token, ended_at, expired, failing_owners))

}  // namespace signalbox
