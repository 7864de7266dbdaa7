// What can be asked of the world. Described fields come from the client by name; the others are
// filled in by the service (ids and digests are arguments, so that decide() stays pure).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <boost/describe/class.hpp>

#include "domain/access.h"
#include "domain/ids.h"
#include "domain/pipeline.h"
#include "domain/plan_events.h"
#include "domain/server_events.h"
#include "domain/station_events.h"

namespace signalbox {

struct Run;

struct StartRun {
  std::string goal;
  std::optional<std::string> input;  // a JSON value as text
  std::optional<std::string> project;
  std::map<std::string, std::string> labels;
  std::optional<PipelineDefinition> pipeline;  // default_pipeline() where none is given
  std::optional<std::string> idempotency_key;
  std::optional<std::string> run_root;    // absolute
  std::optional<std::string> repository;  // absolute
  std::optional<std::string> base;
  std::optional<Budget> budget;
  std::optional<std::uint32_t> max_retries;  // instead of what its stations say

  RunId run_id{};  // the id that the run gets if it is new
  Digest request_digest;
  Digest pipeline_digest;
};
BOOST_DESCRIBE_STRUCT(StartRun, (),
                      (goal, input, project, labels, pipeline, idempotency_key, run_root,
                       repository, base, budget, max_retries))

struct CancelRun {
  RunId run_id{};
  std::optional<std::string> reason;
};
BOOST_DESCRIBE_STRUCT(CancelRun, (), (run_id, reason))

struct PauseRun {
  RunId run_id{};
  std::optional<std::string> reason;
};
BOOST_DESCRIBE_STRUCT(PauseRun, (), (run_id, reason))

// Of a paused run: it goes on. Of one that waits for an approval: what was decided. Of one that
// used up its budget: what it may use from now on.
enum class Decision : std::uint8_t { approve = 1, reject = 2 };
BOOST_DESCRIBE_ENUM(Decision, approve, reject)

struct ResumeRun {
  RunId run_id{};
  std::optional<std::string> reason;
  std::optional<Decision> decision;
  std::optional<Budget> budget;
};
BOOST_DESCRIBE_STRUCT(ResumeRun, (), (run_id, reason, decision, budget))

// Takes up a failed run again at the station that failed.
struct RetryRun {
  RunId run_id{};
  std::optional<std::string> reason;
  std::optional<std::uint32_t> max_retries;  // from now on, instead of what its stations say
  std::optional<Strategy> strategy;          // to begin with; else the station's first

  // The run right before its failure, folded from its records, and where that failure lies: the
  // world remembers less of a run that has ended. nullptr: there are no such records.
  std::shared_ptr<const Run> failed;
  Position failed_at = 0;
};
BOOST_DESCRIBE_STRUCT(RetryRun, (), (run_id, reason, max_retries, strategy))

// Takes the oldest station that is ready: one of `stations`, or the one of `run_id`, or any.
struct ClaimStation {
  std::string worker;
  std::vector<std::string> stations;
  std::optional<RunId> run_id;
  std::optional<std::int64_t> lease_ms;
  std::optional<std::int64_t> wait_ms;
  std::optional<Token> lock_token;  // of a lock without which the attempt is worth nothing

  Uuid span_id{};
};
BOOST_DESCRIBE_STRUCT(ClaimStation, (), (worker, stations, run_id, lease_ms, wait_ms, lock_token))

struct HeartbeatStation {
  RunId run_id{};
  std::string station;
  Token token = 0;
  std::optional<std::int64_t> lease_ms;
  std::optional<std::string> progress_digest;
};
BOOST_DESCRIBE_STRUCT(HeartbeatStation, (), (run_id, station, token, lease_ms, progress_digest))

struct SetExternalRef {
  RunId run_id{};
  std::string station;
  Token token = 0;
  std::string external_ref;

  bool from_executor = false;  // of the service: the only one that may speak for its stations
};
BOOST_DESCRIBE_STRUCT(SetExternalRef, (), (run_id, station, token, external_ref))

// An artifact whose content comes along; the service stores it before it decides.
struct InlineArtifact {
  std::string name;
  std::optional<std::string> media_type;
  std::string content;
};
BOOST_DESCRIBE_STRUCT(InlineArtifact, (), (name, media_type, content))

struct CompleteStation {
  RunId run_id{};
  std::string station;
  Token token = 0;
  Outcome outcome = Outcome::succeeded;
  std::optional<std::string> summary;
  std::optional<std::string> logs_inline;
  std::optional<std::string> external_ref;
  std::optional<std::string> metadata;  // a JSON object as text
  std::vector<InlineArtifact> artifacts;
  std::optional<ErrorClass> error_class;  // of a failure; terminal where none is given
  std::optional<std::string> error_code;
  std::optional<std::string> error_message;
  // Of a failure of class quota: when the executor may be asked again. The station waits until
  // then, and this counts as no failure.
  std::optional<std::int64_t> quota_reset_at_ns;  // UTC
  std::optional<Usage> usage;
  std::optional<bool> claim_next;        // claim the next ready station in the same commit
  std::vector<std::string> stations;     // for claim_next
  std::optional<std::int64_t> lease_ms;  // for claim_next

  bool from_executor = false;  // see SetExternalRef
  std::vector<Artifact> stored_artifacts;
  Uuid next_span_id{};
};
BOOST_DESCRIBE_STRUCT(CompleteStation, (),
                      (run_id, station, token, outcome, summary, logs_inline, external_ref,
                       metadata, artifacts, error_class, error_code, error_message,
                       quota_reset_at_ns, usage, claim_next, stations, lease_ms))

struct DeferStation {
  RunId run_id{};
  std::string station;
  Token token = 0;
  std::int64_t delay_ms = 0;
  std::optional<std::string> note;
};
BOOST_DESCRIBE_STRUCT(DeferStation, (), (run_id, station, token, delay_ms, note))

// What a run root's `.lock` says at the moment of an acquire.
struct FoundLockFile {
  enum class Kind : std::uint8_t {
    none,
    known,    // of a lock that this log granted: the log says what became of it
    foreign,  // of an owner that this log doesn't know
    stale,    // it can't be read as a lock
  };
  Kind kind = Kind::none;
  std::string path;
  std::string owner;               // foreign
  std::string reason;              // foreign: of the lock
  std::int64_t expires_at_ns = 0;  // foreign; UTC
  std::string problem;             // stale: why
  Digest digest;                   // foreign, stale: of what is there
};

struct AcquireLock {
  std::string key;
  std::string owner;
  std::optional<std::int64_t> lease_ms;
  std::optional<std::string> reason;
  std::optional<std::string> run_root;  // absolute
  std::optional<std::int64_t> wait_ms;

  FoundLockFile file;
};
BOOST_DESCRIBE_STRUCT(AcquireLock, (), (key, owner, lease_ms, reason, run_root, wait_ms))

struct RefreshLock {
  std::string key;
  Token token = 0;
  std::optional<std::int64_t> lease_ms;

  std::string token_owner;  // who was granted this token, as the log tells; or empty
};
BOOST_DESCRIBE_STRUCT(RefreshLock, (), (key, token, lease_ms))

struct ReleaseLock {
  std::string key;
  Token token = 0;

  std::string token_owner;  // as in RefreshLock
};
BOOST_DESCRIBE_STRUCT(ReleaseLock, (), (key, token))

// What a run root's `logs/tick-in-progress.json` says at the moment of a begin.
struct FoundMarker {
  enum class Kind : std::uint8_t {
    none,
    known,       // of a tick of this log: the log says what became of it
    foreign,     // of a tick that this log doesn't know
    unreadable,  // it can't be read as a marker
  };
  Kind kind = Kind::none;
  std::string path;
  std::string text;          // as far as it fits
  std::int64_t age_ms = -1;  // -1: unknown
};

struct BeginTick {
  std::string loop;
  std::optional<std::string> stage;
  std::optional<std::string> reason;
  std::optional<std::int64_t> lease_ms;
  std::optional<RunId> run_id;
  std::optional<std::string> run_root;  // absolute
  std::optional<Token> lock_token;      // of a lock without which the tick is worth nothing

  FoundMarker marker;
  bool own_loop = false;  // of the service: it recovers by itself
};
BOOST_DESCRIBE_STRUCT(BeginTick, (), (loop, stage, reason, lease_ms, run_id, run_root, lock_token))

enum class TickOutcome : std::uint8_t { succeeded = 1, failed = 2 };
BOOST_DESCRIBE_ENUM(TickOutcome, succeeded, failed)

struct EndTick {
  std::string loop;
  Token token = 0;
  TickOutcome outcome = TickOutcome::succeeded;
  std::optional<std::string> error;
};
BOOST_DESCRIBE_STRUCT(EndTick, (), (loop, token, outcome, error))

struct RecoverTick {
  std::string loop;
  std::string reason;
  std::optional<bool> force;  // one that may still be under way, too
};
BOOST_DESCRIBE_STRUCT(RecoverTick, (), (loop, reason, force))

struct IssueAccessToken {
  std::string name;
  Role role = Role::viewer;
  std::optional<std::int64_t> expires_in_ms;

  Uuid id{};
  Digest secret_sha256;
};
BOOST_DESCRIBE_STRUCT(IssueAccessToken, (), (name, role, expires_in_ms))

struct RevokeAccessToken {
  Uuid id{};
  std::string reason;
};
BOOST_DESCRIBE_STRUCT(RevokeAccessToken, (), (id, reason))
// What was found out before there is a plan. `token` is that of the station's attempt.
struct SetExploration {
  RunId run_id{};
  std::string station;
  Token token = 0;
  std::optional<std::string> summary;  // the run's goal where none is given
  std::vector<std::string> files;
  std::vector<std::string> findings;
  std::optional<bool> timed_out;  // it took longer than it may
};
BOOST_DESCRIBE_STRUCT(SetExploration, (),
                      (run_id, station, token, summary, files, findings, timed_out))

struct ProposedStep {
  std::string id;
  std::optional<std::string> description;
  std::optional<StepType> type;  // implement
  std::vector<std::string> dependencies;
  std::optional<StepEffort> effort;  // medium
};
BOOST_DESCRIBE_STRUCT(ProposedStep, (), (id, description, type, dependencies, effort))

// `token` is that of the station's attempt.
struct SetPlan {
  RunId run_id{};
  std::string station;
  Token token = 0;
  std::vector<ProposedStep> steps;
};
BOOST_DESCRIBE_STRUCT(SetPlan, (), (run_id, station, token, steps))

struct ResetPlan {
  RunId run_id{};
  std::optional<Token> token;  // of the station's attempt; an operator has none
  std::optional<std::string> reason;
};
BOOST_DESCRIBE_STRUCT(ResetPlan, (), (run_id, token, reason))

// Takes the next step that can be done: of `run_id`, or of the station that was begun first. The
// station's own worker says its token, and then needs no lease.
struct NextStep {
  std::string worker;
  std::optional<RunId> run_id;
  std::optional<Token> token;
  std::optional<std::int64_t> lease_ms;
  std::optional<std::int64_t> wait_ms;
};
BOOST_DESCRIBE_STRUCT(NextStep, (), (worker, run_id, token, lease_ms, wait_ms))

struct HeartbeatStep {
  RunId run_id{};
  std::string step;
  Token token = 0;
  std::optional<std::int64_t> lease_ms;
};
BOOST_DESCRIBE_STRUCT(HeartbeatStep, (), (run_id, step, token, lease_ms))

struct CompleteStep {
  RunId run_id{};
  std::string step;
  Token token = 0;
  std::optional<std::string> summary;
};
BOOST_DESCRIBE_STRUCT(CompleteStep, (), (run_id, step, token, summary))

struct FailStep {
  RunId run_id{};
  std::string step;
  Token token = 0;
  std::optional<ErrorClass> error_class;  // terminal
  std::optional<std::string> error_code;
  std::optional<std::string> error_message;
};
BOOST_DESCRIBE_STRUCT(FailStep, (), (run_id, step, token, error_class, error_code, error_message))

// The service's own commands follow; no client can send them.

// Starts an attempt of a station that the service executes, with the intent to submit its job.
struct DispatchStation {
  RunId run_id{};
  Uuid span_id{};
  // What the job will be called by its executor, where that is known before it exists; or empty.
  std::string external_ref{};
};

// The lease of `token` ran out, unless it was renewed after `lease_renewed_at`.
struct ExpireLease {
  RunId run_id{};
  Token token = 0;
  Position lease_renewed_at = 0;
};

// The attempt of `token` is older than its station's timeout, counted from `timer_origin`.
struct TimeOutStation {
  RunId run_id{};
  Token token = 0;
  Position timer_origin = 0;
  std::int64_t elapsed_ms = 0;
};

// The attempt of `token` hasn't changed its progress digest since `last_progress_at`.
struct StallStation {
  RunId run_id{};
  Token token = 0;
  Position last_progress_at = 0;
  std::uint32_t stalls = 0;  // that were seen before
  std::int64_t stalled_ms = 0;
};

// The lease of `token` ran out, unless it was renewed after `renewed_at`.
struct ExpireLock {
  std::string key;
  Token token = 0;
  Position renewed_at = 0;
};

// A refresh was refused: that is worth an event, once for each streak of an owner.
struct NoteRefreshFailure {
  std::string key;
  Token token = 0;
  std::string token_owner;
};

// The lease of the tick of `token` ran out.
struct TimeOutTick {
  std::string loop;
  Token token = 0;
  std::int64_t elapsed_ms = 0;
};

// A begin was refused with TICK_IN_PROGRESS, or PREVIOUS_TICK_INCOMPLETE: that is worth an event.
struct NoteTickSkipped {
  BeginTick begin;
};
struct NoteTickIncomplete {
  BeginTick begin;
};

// The wait of the current station is over.
struct WakeStation {
  RunId run_id{};
};

// The lease of a step's attempt ran out, unless it was renewed after `lease_renewed_at`.
struct ExpireStepLease {
  RunId run_id{};
  std::string step;
  Token token = 0;
  Position lease_renewed_at = 0;
};

// The attempt of `token` is older than a step of its station may take.
struct TimeOutStep {
  RunId run_id{};
  std::string step;
  Token token = 0;
};

// The delay before the next attempt of the step is over.
struct WakeStep {
  RunId run_id{};
  std::string step;
};

// The job of a run whose cancellation was requested is gone, but for these processes.
struct ConfirmCancel {
  RunId run_id{};
  Token token = 0;
  std::vector<std::int32_t> escaped_pids = {};
  bool unconfirmed = false;  // its executor couldn't be made to say that it is gone
};

// A request was refused for who asked: that is worth an event, once for each streak.
struct NoteAccessDenied {
  std::string actor;
  std::string method;
  std::optional<Role> role;  // none: it wasn't known who they are
  Role needs = Role::viewer;
};

struct StartServer {
  std::string version;
};

struct StopServer {};

struct FinishRecovery {
  Position last_durable_position = 0;
  std::uint64_t torn_bytes = 0;
  std::vector<RecoveredItem> items;
  Digest report;
};

struct NoteClockJump {
  std::int64_t wall_ms = 0;
  std::int64_t monotonic_ms = 0;
  std::string cause;
};

using Command = std::variant<
    StartRun, CancelRun, ClaimStation, HeartbeatStation, SetExternalRef, CompleteStation,
    DeferStation, DispatchStation, ExpireLease, TimeOutStation, WakeStation, ConfirmCancel,
    StartServer, StopServer, PauseRun, ResumeRun, StallStation, AcquireLock, RefreshLock,
    ReleaseLock, ExpireLock, NoteRefreshFailure, BeginTick, EndTick, RecoverTick, TimeOutTick,
    NoteTickSkipped, NoteTickIncomplete, FinishRecovery, NoteClockJump, IssueAccessToken,
    RevokeAccessToken, NoteAccessDenied, SetExploration, SetPlan, ResetPlan, NextStep,
    HeartbeatStep, CompleteStep, FailStep, ExpireStepLease, TimeOutStep, WakeStep, RetryRun>;

}  // namespace signalbox
