// Which fields of the events hold text that may be erased, and which may not: the listing that
// free_text.cc goes by, and holds against the events.
//
// A new event, or a new field, that holds text is listed here.
#pragma once

#include <string_view>

#include "domain/event.h"

namespace signalbox {

// The fields of a struct that hold text, as words.
struct TextFields {
  std::string_view free = {};  // anything may stand there, and nothing reads it but people
  std::string_view json = {};  // likewise, a JSON value
  std::string_view kept = {};  // names, keys, ids, codes, paths, and what is executed
};

template <class T>
inline constexpr TextFields text_fields{};

template <>
inline constexpr TextFields text_fields<ServerStarted>{.kept = "version"};
template <>
inline constexpr TextFields text_fields<RecoveredItem>{.free = "evidence", .kept = "name"};
template <>
inline constexpr TextFields text_fields<ClockJumped>{.kept = "cause"};

template <>
inline constexpr TextFields text_fields<HistoryDropped>{.kept = "archive origin"};

template <>
inline constexpr TextFields text_fields<RunStarted>{
    .free = "goal labels",
    .json = "input",
    .kept = "project idempotency_key run_root repository base"};
template <>
inline constexpr TextFields text_fields<RunFailed>{.free = "message", .kept = "station code"};
template <>
inline constexpr TextFields text_fields<RunCancelRequested>{.free = "reason"};
template <>
inline constexpr TextFields text_fields<RunCanceled>{.free = "reason"};
template <>
inline constexpr TextFields text_fields<RunPaused>{.free = "reason"};
template <>
inline constexpr TextFields text_fields<RunResumed>{.free = "reason"};
template <>
inline constexpr TextFields text_fields<RunBudgetRaised>{.free = "reason"};
template <>
inline constexpr TextFields text_fields<RunRetried>{
    .free = "reason goal previous",
    .json = "input",
    .kept = "station idempotency_key run_root repository base resume_ref"};

template <>
inline constexpr TextFields text_fields<Artifact>{.kept = "name media_type"};
template <>
inline constexpr TextFields text_fields<AttemptResult>{
    .free = "summary logs_inline", .json = "metadata", .kept = "external_ref"};
template <>
inline constexpr TextFields text_fields<Failure>{.free = "message", .kept = "code"};
template <>
inline constexpr TextFields text_fields<StationClaimed>{.kept = "station worker"};
template <>
inline constexpr TextFields text_fields<StationSubmitIntended>{.kept = "station job_id"};
template <>
inline constexpr TextFields text_fields<StationExternalRefSet>{.kept = "station external_ref"};
template <>
inline constexpr TextFields text_fields<StationHeartbeat>{.kept = "station progress_digest"};
template <>
inline constexpr TextFields text_fields<StationSucceeded>{.kept = "station"};
template <>
inline constexpr TextFields text_fields<StationAttemptFailed>{.kept = "station"};
template <>
inline constexpr TextFields text_fields<StationFailed>{.kept = "station"};
template <>
inline constexpr TextFields text_fields<StationTimedOut>{.kept = "station"};
template <>
inline constexpr TextFields text_fields<StationDeferred>{.free = "note", .kept = "station"};
template <>
inline constexpr TextFields text_fields<StationReady>{.kept = "station"};
template <>
inline constexpr TextFields text_fields<StationCanceled>{.kept = "station"};
template <>
inline constexpr TextFields text_fields<CancelConfirmed>{.kept = "station job_id"};
template <>
inline constexpr TextFields text_fields<CancelEscaped>{.kept = "station job_id"};
template <>
inline constexpr TextFields text_fields<StationStalled>{.kept = "station progress_digest"};
template <>
inline constexpr TextFields text_fields<StationProgressed>{.kept = "station progress_digest"};
template <>
inline constexpr TextFields text_fields<WatchdogTimedOut>{.kept = "station worker run_root"};
template <>
inline constexpr TextFields text_fields<StationUsageReported>{.kept = "station"};
template <>
inline constexpr TextFields text_fields<StationHeld>{.free = "note", .kept = "station"};
template <>
inline constexpr TextFields text_fields<StationApproved>{.free = "reason", .kept = "station"};
template <>
inline constexpr TextFields text_fields<StationRejected>{.free = "reason", .kept = "station"};

template <>
inline constexpr TextFields text_fields<LockAcquired>{.free = "reason",
                                                      .kept = "key owner run_root"};
template <>
inline constexpr TextFields text_fields<LockRefreshed>{.kept = "key owner"};
template <>
inline constexpr TextFields text_fields<LockReleased>{.kept = "key owner run_root"};
template <>
inline constexpr TextFields text_fields<LockExpired>{.kept = "key owner run_root"};
template <>
inline constexpr TextFields text_fields<LockRefreshFailed>{.kept = "key owner current_owner"};
template <>
inline constexpr TextFields text_fields<LockFileReplaced>{.free = "reason", .kept = "key path"};

template <>
inline constexpr TextFields text_fields<TickStarted>{.free = "reason",
                                                     .kept = "loop stage run_root"};
template <>
inline constexpr TextFields text_fields<TickSucceeded>{.kept = "loop run_root"};
template <>
inline constexpr TextFields text_fields<TickFailed>{.free = "error", .kept = "loop code run_root"};
template <>
inline constexpr TextFields text_fields<TickSkipped>{.kept = "loop stage reason"};
template <>
inline constexpr TextFields text_fields<TickIncompleteDetected>{
    .free = "marker", .kept = "loop stage run_root marker_path evidence"};
template <>
inline constexpr TextFields text_fields<TickRecovered>{.free = "reason", .kept = "loop run_root"};
template <>
inline constexpr TextFields text_fields<TickTimedOut>{.kept = "loop stage run_root"};
template <>
inline constexpr TextFields text_fields<TickMissed>{.kept = "loop reason"};

template <>
inline constexpr TextFields text_fields<StepDefinition>{.free = "description",
                                                        .kept = "id dependencies"};
template <>
inline constexpr TextFields text_fields<Exploration>{.free = "summary files findings"};
template <>
inline constexpr TextFields text_fields<ExplorationFinished>{.kept = "station"};
template <>
inline constexpr TextFields text_fields<ExplorationTimedOut>{.kept = "station"};
template <>
inline constexpr TextFields text_fields<PlanSet>{.kept = "station"};
template <>
inline constexpr TextFields text_fields<PlanReset>{.free = "reason", .kept = "station"};
template <>
inline constexpr TextFields text_fields<StepAttemptStarted>{.kept = "station step worker"};
template <>
inline constexpr TextFields text_fields<StepHeartbeat>{.kept = "step"};
template <>
inline constexpr TextFields text_fields<StepCompleted>{.free = "summary", .kept = "step"};
template <>
inline constexpr TextFields text_fields<StepAttemptFailed>{.kept = "step"};
template <>
inline constexpr TextFields text_fields<StepReady>{.kept = "step"};
template <>
inline constexpr TextFields text_fields<StepFailed>{.kept = "step code"};
template <>
inline constexpr TextFields text_fields<StepBlocked>{.kept = "step by"};
template <>
inline constexpr TextFields text_fields<StepReopened>{.kept = "step"};
template <>
inline constexpr TextFields text_fields<PlanRestored>{.kept = "station"};

template <>
inline constexpr TextFields text_fields<ProjectPut>{.kept = "repository base remote"};
template <>
inline constexpr TextFields text_fields<PolicyRefused>{.free = "message"};
template <>
inline constexpr TextFields text_fields<WorktreeRemoved>{.kept = "path rescue_ref"};
template <>
inline constexpr TextFields text_fields<WorktreeLeft>{.free = "reason", .kept = "path"};

template <>
inline constexpr TextFields text_fields<CardSubmitted>{.free = "title brief",
                                                       .kept = "project key"};
template <>
inline constexpr TextFields text_fields<CardVerificationStarted>{.kept = "station"};
template <>
inline constexpr TextFields text_fields<CardVerified>{.kept = "commit"};
template <>
inline constexpr TextFields text_fields<CardBlocked>{.free = "message", .kept = "code"};
template <>
inline constexpr TextFields text_fields<CardFailed>{.free = "message", .kept = "code"};
template <>
inline constexpr TextFields text_fields<CardUnblocked>{.free = "reason"};
template <>
inline constexpr TextFields text_fields<CardMergeDeferred>{.free = "message", .kept = "code"};
template <>
inline constexpr TextFields text_fields<CardMerged>{.kept = "commit"};

template <>
inline constexpr TextFields text_fields<AccessTokenIssued>{.kept = "name"};
template <>
inline constexpr TextFields text_fields<AccessTokenRevoked>{.free = "reason"};
template <>
inline constexpr TextFields text_fields<AccessDenied>{.kept = "actor method"};
template <>
inline constexpr TextFields text_fields<AuditKeyAdopted>{.kept = "name verifier_key previous"};
template <>
inline constexpr TextFields text_fields<PayloadRedacted>{.free = "reason", .kept = "event fields"};

// A definition is pinned by its digest, and jobs are made from it.
template <>
inline constexpr TextFields text_fields<PipelineDefinition>{.kept = "name"};
template <>
inline constexpr TextFields text_fields<StationDefinition>{.kept =
                                                               "name command environment remote"};
template <>
inline constexpr TextFields text_fields<CoderunnerDefinition>{.kept = "prompt model"};
template <>
inline constexpr TextFields text_fields<RemoteJobDefinition>{.kept = "endpoint"};
template <>
inline constexpr TextFields text_fields<CheckDefinition>{.kept = "name command"};
template <>
inline constexpr TextFields text_fields<ChecksDefinition>{.kept = "instructions"};
template <>
inline constexpr TextFields text_fields<PhaseDefinition>{.kept = "command"};

}  // namespace signalbox
