// Events of a run's stations and their attempts. They lie in the run's stream, `run/<id>`.
//
// To add one: a struct with a fresh number and a Describe listing, a place in the variant, rows in
// the transition table (station.h), a case in evolve, golden bytes in tests/store. To change one:
// see store/FORMAT.md, "Changing a stored event".
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>

#include "domain/event_parts.h"
#include "domain/ids.h"
#include "domain/pipeline.h"

namespace signalbox {

enum class Outcome : std::uint8_t { succeeded = 1, failed = 2, canceled = 3, timeout = 4 };
BOOST_DESCRIBE_ENUM(Outcome, succeeded, failed, canceled, timeout)

// The class of a failure, which decides about the next attempt: transient, lost and quota are
// retried with the same strategy; terminal is retried with the next strategy, and with the last one
// where retries were asked for (retry_policy.h); config fails the station at once.
enum class ErrorClass : std::uint8_t {
  config = 1,
  transient = 2,
  terminal = 3,
  lost = 4,
  quota = 5
};
BOOST_DESCRIBE_ENUM(ErrorClass, config, transient, terminal, lost, quota)

// Why a station waits. Stored as a number: append only.
enum class WaitReason : std::uint8_t {
  backoff = 1,
  deferred = 2,
  stalled = 3,
  quota = 4,     // until a usage limit of the executor is over
  approval = 5,  // until a person decides
  budget = 6     // until the run's budget, which is used up, is raised
};
BOOST_DESCRIBE_ENUM(WaitReason, backoff, deferred, stalled, quota, approval, budget)

// The usage of an attempt. A figure that the executor doesn't know is 0.
struct Usage {
  std::int64_t cost_microusd = 0;  // millionths of a US dollar
  std::int64_t tokens = 0;         // input and output tokens of the model
  std::int64_t turns = 0;

  friend bool operator==(const Usage&, const Usage&) = default;
};
BOOST_DESCRIBE_STRUCT(Usage, (), (cost_microusd, tokens, turns))

// A file that an attempt produced, stored by its digest under artifacts/sha256/.
struct Artifact {
  KeptText name;
  KeptText media_type;
  std::uint64_t bytes = 0;
  Digest sha256;

  friend bool operator==(const Artifact&, const Artifact&) = default;
};
BOOST_DESCRIBE_STRUCT(Artifact, (), (name, media_type, bytes, sha256))

// Of an artifact that has the contents of those that the event names before it: a bundle, which the
// service and its runners alone make (server/platform/attempt_bundle.h).
inline constexpr const char* bundle_media_type = "application/vnd.signalbox.attempt+tar";
inline constexpr const char* bundle_name = "attempt.tar";

// Returns whether the artifact says that it is a bundle.
inline bool is_bundle(const Artifact& artifact) {
  return std::string_view(artifact.media_type) == bundle_media_type;
}

struct AttemptResult {
  FreeText summary;
  FreeText logs_inline;  // an excerpt, with a note of what was cut
  FreeText external_ref;
  FreeJson metadata;  // a JSON object as text, or empty
  std::vector<Artifact> artifacts;

  friend bool operator==(const AttemptResult&, const AttemptResult&) = default;
};
BOOST_DESCRIBE_STRUCT(AttemptResult, (), (summary, logs_inline, external_ref, metadata, artifacts))

struct Failure {
  Outcome outcome = Outcome::failed;  // only failed or timeout
  ErrorClass error_class = ErrorClass::terminal;
  KeptText code;  // e.g. EXIT_NONZERO, LEASE_EXPIRED
  FreeText message;

  friend bool operator==(const Failure&, const Failure&) = default;
};
BOOST_DESCRIBE_STRUCT(Failure, (), (outcome, error_class, code, message))

// An attempt starts. The position of this event is its token.
struct StationClaimed {
  static constexpr EventTag tag{301, 2, "StationClaimed"};
  KeptText station;
  std::uint32_t attempt = 1;
  Strategy strategy = Strategy::original;
  KeptText worker;
  std::int64_t lease_ms = 0;  // 0: no lease, the service watches the job
  Token lock_token = 0;       // of the lock that the attempt depends on, or 0

  friend bool operator==(const StationClaimed&, const StationClaimed&) = default;
};
BOOST_DESCRIBE_STRUCT(StationClaimed, (),
                      (station, attempt, strategy, worker, lease_ms, lock_token))

// A job with this id is about to be submitted. This event is durable before the submission.
struct StationSubmitIntended {
  static constexpr EventTag tag{302, 2, "StationSubmitIntended"};
  KeptText station;
  KeptText job_id;
  KeptText machine;  // id of the machine that submits it; empty: written before this was recorded

  friend bool operator==(const StationSubmitIntended&, const StationSubmitIntended&) = default;
};
BOOST_DESCRIBE_STRUCT(StationSubmitIntended, (), (station, job_id, machine))

struct StationExternalRefSet {
  static constexpr EventTag tag{303, 1, "StationExternalRefSet"};
  KeptText station;
  FreeText external_ref;

  friend bool operator==(const StationExternalRefSet&, const StationExternalRefSet&) = default;
};
BOOST_DESCRIBE_STRUCT(StationExternalRefSet, (), (station, external_ref))

struct StationHeartbeat {
  static constexpr EventTag tag{304, 1, "StationHeartbeat"};
  KeptText station;
  std::int64_t lease_ms = 0;
  FreeText progress_digest;  // changes when the worker makes progress; may be empty

  friend bool operator==(const StationHeartbeat&, const StationHeartbeat&) = default;
};
BOOST_DESCRIBE_STRUCT(StationHeartbeat, (), (station, lease_ms, progress_digest))

struct StationSucceeded {
  static constexpr EventTag tag{305, 1, "StationSucceeded"};
  KeptText station;
  std::uint32_t attempt = 1;
  AttemptResult result;

  friend bool operator==(const StationSucceeded&, const StationSucceeded&) = default;
};
BOOST_DESCRIBE_STRUCT(StationSucceeded, (), (station, attempt, result))

// The attempt failed and another one will follow at retry_at_ns.
struct StationAttemptFailed {
  static constexpr EventTag tag{306, 1, "StationAttemptFailed"};
  KeptText station;
  std::uint32_t attempt = 1;
  Failure failure;
  AttemptResult result;
  std::int64_t retry_at_ns = 0;  // UTC
  Strategy next_strategy = Strategy::original;

  friend bool operator==(const StationAttemptFailed&, const StationAttemptFailed&) = default;
};
BOOST_DESCRIBE_STRUCT(StationAttemptFailed, (),
                      (station, attempt, failure, result, retry_at_ns, next_strategy))

// The attempt failed and no other one follows.
struct StationFailed {
  static constexpr EventTag tag{307, 1, "StationFailed"};
  KeptText station;
  std::uint32_t attempt = 1;
  Failure failure;
  AttemptResult result;

  friend bool operator==(const StationFailed&, const StationFailed&) = default;
};
BOOST_DESCRIBE_STRUCT(StationFailed, (), (station, attempt, failure, result))

// Like StationFailed, for a last attempt that timed out.
struct StationTimedOut {
  static constexpr EventTag tag{308, 1, "StationTimedOut"};
  KeptText station;
  std::uint32_t attempt = 1;
  Failure failure;
  AttemptResult result;

  friend bool operator==(const StationTimedOut&, const StationTimedOut&) = default;
};
BOOST_DESCRIBE_STRUCT(StationTimedOut, (), (station, attempt, failure, result))

// The worker gave up its claim until until_ns. This doesn't count as a failure.
struct StationDeferred {
  static constexpr EventTag tag{309, 1, "StationDeferred"};
  KeptText station;
  std::uint32_t attempt = 1;
  WaitReason reason = WaitReason::deferred;
  std::int64_t until_ns = 0;  // UTC
  FreeText note;

  friend bool operator==(const StationDeferred&, const StationDeferred&) = default;
};
BOOST_DESCRIBE_STRUCT(StationDeferred, (), (station, attempt, reason, until_ns, note))

// The wait is over: the station can be claimed.
struct StationReady {
  static constexpr EventTag tag{310, 1, "StationReady"};
  KeptText station;

  friend bool operator==(const StationReady&, const StationReady&) = default;
};
BOOST_DESCRIBE_STRUCT(StationReady, (), (station))

struct StationCanceled {
  static constexpr EventTag tag{311, 1, "StationCanceled"};
  KeptText station;

  friend bool operator==(const StationCanceled&, const StationCanceled&) = default;
};
BOOST_DESCRIBE_STRUCT(StationCanceled, (), (station))

// The job of a canceled attempt has ended with all its descendants.
struct CancelConfirmed {
  static constexpr EventTag tag{312, 1, "CancelConfirmed"};
  KeptText station;
  KeptText job_id;

  friend bool operator==(const CancelConfirmed&, const CancelConfirmed&) = default;
};
BOOST_DESCRIBE_STRUCT(CancelConfirmed, (), (station, job_id))

// Processes outlived the cancellation of their job. Without pids: the end of a remote job couldn't
// be confirmed.
struct CancelEscaped {
  static constexpr EventTag tag{313, 1, "CancelEscaped"};
  KeptText station;
  KeptText job_id;
  std::vector<std::int32_t> pids;

  friend bool operator==(const CancelEscaped&, const CancelEscaped&) = default;
};
BOOST_DESCRIBE_STRUCT(CancelEscaped, (), (station, job_id, pids))

// The attempt is alive and its progress digest hasn't changed for the station's stall_after.
struct StationStalled {
  static constexpr EventTag tag{314, 1, "StationStalled"};
  KeptText station;
  std::uint32_t attempt = 1;
  FreeText progress_digest;
  std::int64_t stalled_ms = 0;
  StallAction action = StallAction::nudge;

  friend bool operator==(const StationStalled&, const StationStalled&) = default;
};
BOOST_DESCRIBE_STRUCT(StationStalled, (), (station, attempt, progress_digest, stalled_ms, action))

// A stalled attempt made progress.
struct StationProgressed {
  static constexpr EventTag tag{315, 1, "StationProgressed"};
  KeptText station;
  std::uint32_t attempt = 1;
  FreeText progress_digest;

  friend bool operator==(const StationProgressed&, const StationProgressed&) = default;
};
BOOST_DESCRIBE_STRUCT(StationProgressed, (), (station, attempt, progress_digest))

// The origin of a timeout: the later of the two.
enum class TimerOrigin : std::uint8_t { started_at = 1, last_progress_at = 2 };
BOOST_DESCRIBE_ENUM(TimerOrigin, started_at, last_progress_at)

// The attempt exceeded its timeout. The next event of the commit ends it.
struct WatchdogTimedOut {
  static constexpr EventTag tag{316, 1, "WatchdogTimedOut"};
  KeptText station;
  std::uint32_t attempt = 1;
  std::int64_t elapsed_ms = 0;
  std::int64_t timeout_ms = 0;
  TimerOrigin timer_origin_field = TimerOrigin::started_at;
  std::int64_t timer_origin_ns = 0;  // UTC
  KeptText worker;
  KeptText run_root;  // empty: <data>/runs/<run id>

  friend bool operator==(const WatchdogTimedOut&, const WatchdogTimedOut&) = default;
};
BOOST_DESCRIBE_STRUCT(WatchdogTimedOut, (),
                      (station, attempt, elapsed_ms, timeout_ms, timer_origin_field,
                       timer_origin_ns, worker, run_root))

// The usage of the attempt, recorded with its end.
struct StationUsageReported {
  static constexpr EventTag tag{317, 1, "StationUsageReported"};
  KeptText station;
  std::uint32_t attempt = 1;
  Usage usage;

  friend bool operator==(const StationUsageReported&, const StationUsageReported&) = default;
};
BOOST_DESCRIBE_STRUCT(StationUsageReported, (), (station, attempt, usage))

// The station became the current one and waits for a person: for an approval station's decision or
// a budget.
struct StationHeld {
  static constexpr EventTag tag{318, 1, "StationHeld"};
  KeptText station;
  WaitReason reason = WaitReason::approval;
  FreeText note;  // what the person is asked for

  friend bool operator==(const StationHeld&, const StationHeld&) = default;
};
BOOST_DESCRIBE_STRUCT(StationHeld, (), (station, reason, note))

// A person approved an approval station, or a result that was held. The record's actor is that
// person.
struct StationApproved {
  static constexpr EventTag tag{319, 1, "StationApproved"};
  KeptText station;
  FreeText reason;

  friend bool operator==(const StationApproved&, const StationApproved&) = default;
};
BOOST_DESCRIBE_STRUCT(StationApproved, (), (station, reason))

// A person rejected an approval station, or a result that was held. The record's actor is that
// person.
struct StationRejected {
  static constexpr EventTag tag{320, 1, "StationRejected"};
  KeptText station;
  FreeText reason;

  friend bool operator==(const StationRejected&, const StationRejected&) = default;
};
BOOST_DESCRIBE_STRUCT(StationRejected, (), (station, reason))

// The attempt asked for an approval of its run. It goes on; its success is held until a person has
// decided.
struct StationApprovalRequested {
  static constexpr EventTag tag{321, 1, "StationApprovalRequested"};
  KeptText station;
  std::uint32_t attempt = 1;
  FreeText question;  // what the person is asked

  friend bool operator==(const StationApprovalRequested&,
                         const StationApprovalRequested&) = default;
};
BOOST_DESCRIBE_STRUCT(StationApprovalRequested, (), (station, attempt, question))

// A person approved what an attempt under way asked for. The record's actor is that person.
struct StationApprovalGiven {
  static constexpr EventTag tag{322, 1, "StationApprovalGiven"};
  KeptText station;
  std::uint32_t attempt = 1;
  FreeText reason;

  friend bool operator==(const StationApprovalGiven&, const StationApprovalGiven&) = default;
};
BOOST_DESCRIBE_STRUCT(StationApprovalGiven, (), (station, attempt, reason))

// The attempt succeeded while the approval that it asked for was still to be decided. The station
// succeeds with StationApproved, and fails with StationRejected.
struct StationResultHeld {
  static constexpr EventTag tag{323, 1, "StationResultHeld"};
  KeptText station;
  std::uint32_t attempt = 1;
  AttemptResult result;

  friend bool operator==(const StationResultHeld&, const StationResultHeld&) = default;
};
BOOST_DESCRIBE_STRUCT(StationResultHeld, (), (station, attempt, result))

using StationEvents =
    std::variant<StationClaimed, StationSubmitIntended, StationExternalRefSet, StationHeartbeat,
                 StationSucceeded, StationAttemptFailed, StationFailed, StationTimedOut,
                 StationDeferred, StationReady, StationCanceled, CancelConfirmed, CancelEscaped,
                 StationStalled, StationProgressed, WatchdogTimedOut, StationUsageReported,
                 StationHeld, StationApproved, StationRejected, StationApprovalRequested,
                 StationApprovalGiven, StationResultHeld>;
using StationEvent = OneOf<StationEvents>;

}  // namespace signalbox
