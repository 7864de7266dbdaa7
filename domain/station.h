// The state of a station in an open run and of its attempt, with the transition table.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>

#include "domain/event.h"
#include "domain/transition.h"

namespace signalbox {

enum class StationStatus : std::uint8_t {
  pending = 1,  // not its turn yet, or ready to be claimed
  running = 2,
  waiting = 3,  // for a WaitReason and, if known, until a time
  succeeded = 4,
  failed = 5,
  canceled = 6,
  timeout = 7,
};
BOOST_DESCRIBE_ENUM(StationStatus, pending, running, waiting, succeeded, failed, canceled, timeout)

using StationTransition = Transition<StationStatus>;

// The transition table, drawn in README.md. evolve() aborts on a pair that isn't in it.
inline constexpr std::array station_transitions = {
    StationTransition{StationStatus::pending, StationClaimed::tag, StationStatus::running},
    StationTransition{StationStatus::pending, StationCanceled::tag, StationStatus::canceled},
    StationTransition{StationStatus::running, StationSubmitIntended::tag, StationStatus::running},
    StationTransition{StationStatus::running, StationExternalRefSet::tag, StationStatus::running},
    StationTransition{StationStatus::running, StationHeartbeat::tag, StationStatus::running},
    StationTransition{StationStatus::running, CancelConfirmed::tag, StationStatus::running},
    StationTransition{StationStatus::running, CancelEscaped::tag, StationStatus::running},
    StationTransition{StationStatus::running, StationSucceeded::tag, StationStatus::succeeded},
    StationTransition{StationStatus::running, StationAttemptFailed::tag, StationStatus::waiting},
    StationTransition{StationStatus::running, StationDeferred::tag, StationStatus::waiting},
    StationTransition{StationStatus::running, StationFailed::tag, StationStatus::failed},
    StationTransition{StationStatus::running, StationTimedOut::tag, StationStatus::timeout},
    StationTransition{StationStatus::running, StationCanceled::tag, StationStatus::canceled},
    StationTransition{StationStatus::running, WatchdogTimedOut::tag, StationStatus::running},
    StationTransition{StationStatus::running, StationStalled::tag, StationStatus::waiting},
    StationTransition{StationStatus::running, StationUsageReported::tag, StationStatus::running},
    // The station waits for a person; it has no attempt then.
    StationTransition{StationStatus::pending, StationHeld::tag, StationStatus::waiting},
    StationTransition{StationStatus::waiting, StationHeld::tag, StationStatus::waiting},
    StationTransition{StationStatus::waiting, StationApproved::tag, StationStatus::succeeded},
    StationTransition{StationStatus::waiting, StationRejected::tag, StationStatus::failed},
    StationTransition{StationStatus::waiting, StationReady::tag, StationStatus::pending},
    StationTransition{StationStatus::waiting, StationCanceled::tag, StationStatus::canceled},
    // An attempt that asks for an approval: the station waits, with the attempt or, once that has
    // succeeded, without one.
    StationTransition{StationStatus::running, StationApprovalRequested::tag,
                      StationStatus::waiting},
    StationTransition{StationStatus::waiting, StationApprovalRequested::tag,
                      StationStatus::waiting},
    StationTransition{StationStatus::waiting, StationApprovalGiven::tag, StationStatus::running},
    StationTransition{StationStatus::waiting, StationResultHeld::tag, StationStatus::waiting},
    // A station with a stalled attempt, or one that asks for an approval: the attempt can do what a
    // running one can.
    StationTransition{StationStatus::waiting, StationProgressed::tag, StationStatus::running},
    StationTransition{StationStatus::waiting, StationStalled::tag, StationStatus::waiting},
    StationTransition{StationStatus::waiting, StationExternalRefSet::tag, StationStatus::waiting},
    StationTransition{StationStatus::waiting, StationHeartbeat::tag, StationStatus::waiting},
    StationTransition{StationStatus::waiting, CancelConfirmed::tag, StationStatus::waiting},
    StationTransition{StationStatus::waiting, CancelEscaped::tag, StationStatus::waiting},
    StationTransition{StationStatus::waiting, WatchdogTimedOut::tag, StationStatus::waiting},
    StationTransition{StationStatus::waiting, StationUsageReported::tag, StationStatus::waiting},
    StationTransition{StationStatus::waiting, StationSucceeded::tag, StationStatus::succeeded},
    StationTransition{StationStatus::waiting, StationAttemptFailed::tag, StationStatus::waiting},
    StationTransition{StationStatus::waiting, StationDeferred::tag, StationStatus::waiting},
    StationTransition{StationStatus::waiting, StationFailed::tag, StationStatus::failed},
    StationTransition{StationStatus::waiting, StationTimedOut::tag, StationStatus::timeout},
    // The run was retried.
    StationTransition{StationStatus::failed, RunRetried::tag, StationStatus::pending},
    StationTransition{StationStatus::timeout, RunRetried::tag, StationStatus::pending},
};

// Returns the status after the event of this number, or nullopt if the table has no such pair.
constexpr std::optional<StationStatus> next_status(StationStatus from, std::uint16_t event_number) {
  return next_in(station_transitions, from, event_number);
}

// The attempt that an event requires of its station: the second half of the table. The
// status `waiting` alone doesn't say it. A station waits between two attempts, or with an attempt
// that is stalled or asks for an approval, and each case has only some of the rows. evolve() checks
// every station event against both halves.
enum class AttemptPresence : std::uint8_t { none, one, either };

// Returns whether the event of this number requires an attempt.
constexpr AttemptPresence attempt_presence(std::uint16_t event_number) {
  switch (event_number) {
    case StationClaimed::tag.number:
    case StationReady::tag.number:
    case StationHeld::tag.number:
    case StationApproved::tag.number:
    case StationRejected::tag.number:
      return AttemptPresence::none;
    case StationCanceled::tag.number:
      return AttemptPresence::either;
    default:
      return AttemptPresence::one;
  }
}

// Returns whether the event of this number may happen to a station with, or without, an attempt.
constexpr bool may_happen(std::uint16_t event_number, bool has_attempt) {
  const AttemptPresence needed = attempt_presence(event_number);
  return needed == AttemptPresence::either || has_attempt == (needed == AttemptPresence::one);
}

// The table has only rows that may happen, as far as the status implies whether there is an
// attempt.
static_assert([] {
  for (const StationTransition& row : station_transitions) {
    if (row.from == StationStatus::pending && !may_happen(row.on.number, false)) return false;
    if (row.from == StationStatus::running && !may_happen(row.on.number, true)) return false;
  }
  return true;
}());

constexpr bool is_terminal(StationStatus status) {
  switch (status) {
    case StationStatus::pending:
    case StationStatus::running:
    case StationStatus::waiting:
      return false;
    case StationStatus::succeeded:
    case StationStatus::failed:
    case StationStatus::canceled:
    case StationStatus::timeout:
      return true;
  }
  return false;
}

struct StationState {
  StationStatus status = StationStatus::pending;
  WaitReason waiting = WaitReason::backoff;  // meaningful while waiting
  std::uint8_t strategy_index = 0;           // in the station's strategies
  std::uint32_t attempts = 0;                // attempts started so far
  std::uint32_t failures = 0;                // attempts ended, except by success, defer or cancel
  Position ready_at = 0;                     // position since when it is claimable; 0: it isn't
  std::int64_t waiting_until_ns = 0;         // UTC; 0: no time

  friend bool operator==(const StationState&, const StationState&) = default;
};
BOOST_DESCRIBE_STRUCT(StationState, (),
                      (status, waiting, strategy_index, attempts, failures, ready_at,
                       waiting_until_ns))

// The attempt under way. Its deadlines aren't state: they run on the monotonic clock of one
// incarnation, and after a restart they are re-armed from lease_ms and the definition's timeout.
struct Attempt {
  Token token = 0;
  Uuid span_id{};
  std::uint32_t number = 0;
  Strategy strategy = Strategy::original;
  std::string worker;
  std::int64_t lease_ms = 0;             // 0: no lease, the service watches the job
  Position lease_renewed_at = 0;         // position of the claim or the latest heartbeat
  std::int64_t started_at_ns = 0;        // UTC
  std::string job_id;                    // from its StationSubmitIntended, or empty
  std::string machine;                   // that submits it; empty: none, or not recorded
  std::string external_ref;              // the executor's own id of the job, once known
  Token lock_token = 0;                  // of the lock that it depends on, or 0
  std::string progress_digest;           // the latest one that it sent
  Position last_progress_at = 0;         // position at which that changed; 0: never
  std::int64_t last_progress_at_ns = 0;  // UTC
  std::uint32_t stalls = 0;              // stalls since the latest progress
  bool ending = false;                   // a stall or a rejection ended it, its job is being ended

  // Returns the position from which its timeout is counted: the claim or the latest progress.
  [[nodiscard]] Position timer_origin() const {
    return last_progress_at > token ? last_progress_at : token;
  }

  friend bool operator==(const Attempt&, const Attempt&) = default;
};
// Without `machine`, which the encoding of a world has apart from the others (world_codec.cc).
BOOST_DESCRIBE_STRUCT(Attempt, (),
                      (token, span_id, number, strategy, worker, lease_ms, lease_renewed_at,
                       started_at_ns, job_id, external_ref, lock_token, progress_digest,
                       last_progress_at, last_progress_at_ns, stalls, ending))

}  // namespace signalbox
