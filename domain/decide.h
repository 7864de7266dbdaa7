// decide(world, command, now) → events or a rejection. Pure: no clock, no I/O, no randomness.
//
// One file per noun (decide_run.cc, decide_lock.cc, decide_tick.cc, …). Guards run from the most
// general to the most specific; their order is part of the contract and is tested.
#pragma once

#include <cstdint>
#include <vector>

#include "domain/command.h"
#include "domain/error.h"
#include "domain/event.h"
#include "domain/sender.h"
#include "domain/world.h"

namespace signalbox {

// The inputs of decide() beside the state and the command.
struct Now {
  std::int64_t wall_ns = 0;  // UTC
  Sender by = {};            // default: the service itself
};

// An event that was decided and isn't in the log yet. The engine gives it a position, a time and an
// actor when it commits it.
struct NewEvent {
  Stream stream;
  Uuid span_id{};      // as in Record
  Position cause = 0;  // as in Record
  Event event;

  friend bool operator==(const NewEvent&, const NewEvent&) = default;
};

using NewEvents = std::vector<NewEvent>;

// The comments below name the codes beyond those of the command's own fields (INVALID_PARAMS,
// LIMIT_EXCEEDED), and when a command is accepted without events. Each command with a token is
// rejected with FORBIDDEN, after all that is named here about the token, if it isn't the sender's.

// Run family. PIPELINE_INVALID; IDEMPOTENCY_CONFLICT if the idempotency key stands for another
// request; RUN_ROOT_TAKEN. No events if the key stands for the same request: the caller answers
// with that run.
Decided<NewEvents> decide(const World&, const StartRun&, const Now&);
// RUN_NOT_FOUND, RUN_TERMINAL; no events if cancellation was requested before. It takes back a
// rejection whose job is being ended.
Decided<NewEvents> decide(const World&, const CancelRun&, const Now&);
// Never rejected; no events if no cancellation of this attempt is pending.
Decided<NewEvents> decide(const World&, const ConfirmCancel&, const Now&);
// OVERLOADED if usage of the run was recorded after the records were read; no events if there is
// nothing to report, or if the attempt is under way and its end will tell. Never rejected for the
// status of the run, which may have ended.
Decided<NewEvents> decide(const World&, const NoteLateUsage&, const Now&);
// RUN_NOT_FOUND, RUN_TERMINAL; no events if the run is paused already.
Decided<NewEvents> decide(const World&, const PauseRun&, const Now&);
// RUN_NOT_FOUND, RUN_TERMINAL, BUDGET_EXHAUSTED, DECISION_REQUIRED, NOT_WAITING_FOR_APPROVAL; no
// events if there is nothing to resume.
Decided<NewEvents> decide(const World&, const ResumeRun&, const Now&);

// CARD_BUSY if it is a card's run, RUN_NOT_FOUND, RUN_NOT_FAILED, RUN_ROOT_TAKEN; OVERLOADED if
// something was added to what a run has used after the records were read.
Decided<NewEvents> decide(const World&, const RetryRun&, const Now&);

// Station family. LOCK_LOST; for a named run also RUN_NOT_FOUND, RUN_TERMINAL, STATION_NOT_FOUND,
// STATION_ALREADY_SUCCEEDED, STATION_ORDER, STATION_NOT_CLAIMABLE. No events if no station is
// ready, or while the service is paused.
Decided<NewEvents> decide(const World&, const ClaimStation&, const Now&);
// The holder's commands: RUN_NOT_FOUND, RUN_TERMINAL, STATION_NOT_FOUND, STATION_ALREADY_SUCCEEDED,
// STATION_ORDER, STATION_NOT_CLAIMED, STALE_TOKEN. All but the heartbeat: STATION_NOT_CLAIMABLE if
// the service executes the station and its executor isn't the sender.
Decided<NewEvents> decide(const World&, const HeartbeatStation&, const Now&);
// Returns whether a heartbeat that is taken says only that its sender lives: the lease is the same,
// there is no other progress, and nobody waits for some. What it changes, the end of the lease,
// isn't state, so it needn't be recorded.
[[nodiscard]] bool is_mere_renewal(const World&, const HeartbeatStation&);
Decided<NewEvents> decide(const World&, const SetExternalRef&, const Now&);
Decided<NewEvents> decide(const World&, const CompleteStation&, const Now&);
Decided<NewEvents> decide(const World&, const DeferStation&, const Now&);
// Codes as for HeartbeatStation. No events if the attempt asks already, or
// is being ended.
Decided<NewEvents> decide(const World&, const RequestApproval&, const Now&);
// Never rejected; no events if the station isn't ready or is for outside workers, if its machine is
// a runner that is drained or evicted, or while the service is paused.
Decided<NewEvents> decide(const World&, const DispatchStation&, const Now&);
Decided<NewEvents> decide(const World&, const SettleStation&, const Now&);

// Timers. Never rejected; no events if the state that the timer was set for has changed since.
Decided<NewEvents> decide(const World&, const ExpireLease&, const Now&);
Decided<NewEvents> decide(const World&, const TimeOutStation&, const Now&);
Decided<NewEvents> decide(const World&, const StallStation&, const Now&);
Decided<NewEvents> decide(const World&, const WakeStation&, const Now&);
Decided<NewEvents> decide(const World&, const ExpireLock&, const Now&);
Decided<NewEvents> decide(const World&, const TimeOutTick&, const Now&);

// Lock family. These don't compare times: the caller expires a lease that is over with ExpireLock
// before. LOCK_HELD; if the owner and sender holds the lock already, its lease is renewed.
Decided<NewEvents> decide(const World&, const AcquireLock&, const Now&);
// LOCK_NOT_OWNED.
Decided<NewEvents> decide(const World&, const RefreshLock&, const Now&);
// LOCK_NOT_OWNED; no events if the lock was released before.
Decided<NewEvents> decide(const World&, const ReleaseLock&, const Now&);
// No events within a streak of the owner that is recorded already.
Decided<NewEvents> decide(const World&, const NoteRefreshFailure&, const Now&);

// Tick family. RUN_NOT_FOUND, RUN_TERMINAL, PREVIOUS_TICK_INCOMPLETE, TICK_IN_PROGRESS, LOCK_LOST.
// A loop of the service itself recovers from an incomplete tick instead of being rejected.
Decided<NewEvents> decide(const World&, const BeginTick&, const Now&);
// STALE_TOKEN.
Decided<NewEvents> decide(const World&, const EndTick&, const Now&);
// TICK_IN_PROGRESS unless forced; no events if there is nothing to recover.
Decided<NewEvents> decide(const World&, const RecoverTick&, const Now&);
Decided<NewEvents> decide(const World&, const NoteTickSkipped&, const Now&);
// No events if the loop is halted already, or its tick isn't incomplete.
Decided<NewEvents> decide(const World&, const NoteTickIncomplete&, const Now&);
Decided<NewEvents> decide(const World&, const NoteTicksMissed&, const Now&);

// Access family. ACCESS_TOKEN_EXISTS, LIMIT_EXCEEDED.
Decided<NewEvents> decide(const World&, const IssueAccessToken&, const Now&);
// ACCESS_TOKEN_NOT_FOUND; no events if the token was revoked before.
Decided<NewEvents> decide(const World&, const RevokeAccessToken&, const Now&);
// No events within a streak that is recorded already.
Decided<NewEvents> decide(const World&, const NoteAccessDenied&, const Now&);
// No events if the key is in use already.
Decided<NewEvents> decide(const World&, const AdoptAuditKey&, const Now&);

// Plan family: deep work. All of them: RUN_NOT_FOUND, RUN_TERMINAL, PLAN_NOT_FOUND if the run's
// current station isn't deep work under way, STALE_TOKEN, PLAN_ORDER if the plan's status doesn't
// allow the command.
Decided<NewEvents> decide(const World&, const SetExploration&, const Now&);
// PLAN_INVALID, LIMIT_EXCEEDED.
Decided<NewEvents> decide(const World&, const SetPlan&, const Now&);
// No events if the plan is reset already.
Decided<NewEvents> decide(const World&, const ResetPlan&, const Now&);

// Step family. For a named run RUN_NOT_FOUND, RUN_TERMINAL, PLAN_NOT_FOUND; STALE_TOKEN for a
// token, STATION_NOT_CLAIMABLE without one if the station's own command does the steps. No events
// if no step is available.
Decided<NewEvents> decide(const World&, const NextStep&, const Now&);
// The holder's commands: RUN_NOT_FOUND, RUN_TERMINAL, PLAN_NOT_FOUND, STEP_NOT_FOUND, STALE_TOKEN.
Decided<NewEvents> decide(const World&, const HeartbeatStep&, const Now&);
// Returns whether a heartbeat that is taken doesn't change the lease, as above.
[[nodiscard]] bool is_mere_renewal(const World&, const HeartbeatStep&);
Decided<NewEvents> decide(const World&, const CompleteStep&, const Now&);
Decided<NewEvents> decide(const World&, const FailStep&, const Now&);
// Timers, as above.
Decided<NewEvents> decide(const World&, const ExpireStepLease&, const Now&);
Decided<NewEvents> decide(const World&, const TimeOutStep&, const Now&);
Decided<NewEvents> decide(const World&, const WakeStep&, const Now&);

// Project family. INVALID_PARAMS, PIPELINE_INVALID, LIMIT_EXCEEDED; no events if nothing changes;
// CARD_BUSY for another base while cards have work that began on the present one.
Decided<NewEvents> decide(const World&, const PutProject&, const Now&);
// PROJECT_NOT_FOUND; no events if this policy, or this refusal, is in force already.
Decided<NewEvents> decide(const World&, const AdoptPolicy&, const Now&);
Decided<NewEvents> decide(const World&, const RefusePolicy&, const Now&);
// PROJECT_NOT_FOUND.
Decided<NewEvents> decide(const World&, const NoteWorktree&, const Now&);

// Card family. PROJECT_NOT_FOUND, LIMIT_EXCEEDED.
Decided<NewEvents> decide(const World&, const SubmitCard&, const Now&);
// CARD_NOT_FOUND, CARD_BUSY while a run or merge of the card is under way; no events if the card
// has failed, or is blocked for the same reason without a retry.
Decided<NewEvents> decide(const World&, const BlockCard&, const Now&);
// CARD_NOT_FOUND; no events if the card is neither blocked nor failed; OUTDATED if it was stopped
// after what the sender has seen.
Decided<NewEvents> decide(const World&, const UnblockCard&, const Now&);
Decided<NewEvents> decide(const World&, const SetCardPriority&, const Now&);
// CARD_NOT_FOUND, CARD_BUSY if the card isn't the next one (any more). If the run is refused, as
// with the pipeline of a project that an earlier version accepted, the card is blocked instead. If
// the card goes on with its latest run, that one is reopened.
Decided<NewEvents> decide(const World&, const StartCard&, const Now&);
Decided<NewEvents> decide(const World&, const MergeCard&, const Now&);
// Never rejected; no events if no retry is due.
Decided<NewEvents> decide(const World&, const RetryBlockedCards&, const Now&);

// Runner family. INVALID_PARAMS, LIMIT_EXCEEDED; DrainRunner: RUNNER_EVICTED. No events if the
// runner is so already.
Decided<NewEvents> decide(const World&, const DrainRunner&, const Now&);
Decided<NewEvents> decide(const World&, const EvictRunner&, const Now&);

// Service family. No events if the service is paused already, or isn't paused; OUTDATED if the
// pause began after what the sender has seen.
Decided<NewEvents> decide(const World&, const PauseService&, const Now&);
Decided<NewEvents> decide(const World&, const ResumeService&, const Now&);

// Server family. Never rejected; PruneRuns gives no events if no run is old enough.
Decided<NewEvents> decide(const World&, const PruneRuns&, const Now&);
Decided<NewEvents> decide(const World&, const StartServer&, const Now&);
Decided<NewEvents> decide(const World&, const StopServer&, const Now&);
Decided<NewEvents> decide(const World&, const FinishRecovery&, const Now&);
Decided<NewEvents> decide(const World&, const NoteClockJump&, const Now&);
Decided<NewEvents> decide(const World&, const NoteProjectionRebuilt&, const Now&);
Decided<NewEvents> decide(const World&, const NoteCellTaken&, const Now&);

// Appends to `events`, which were decided about a run, the events of the card whose run or merge it
// is. Both are one commit, so that a card never contradicts its run.
void add_card_events(const World& world, NewEvents& events, const Now& now);

// Calls the overload for the command that `command` holds, and adds the events of cards.
Decided<NewEvents> decide(const World& world, const Command& command, const Now& now);

}  // namespace signalbox
