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
#include "domain/world.h"

namespace signalbox {

// What decide() may know beside the state.
struct Now {
  std::int64_t wall_ns = 0;  // UTC
};

// An event that isn't in the log yet: it gets its position, time and actor there.
struct NewEvent {
  Stream stream;
  Uuid span_id{};
  Position cause = 0;
  Event event;

  friend bool operator==(const NewEvent&, const NewEvent&) = default;
};

using NewEvents = std::vector<NewEvent>;

// Run family. An idempotency key that is known gives no events (the caller answers with the run
// that has it) or IDEMPOTENCY_CONFLICT.
Decided<NewEvents> decide(const World&, const StartRun&, const Now&);
// RUN_NOT_FOUND, RUN_TERMINAL; no events if cancellation was requested before.
Decided<NewEvents> decide(const World&, const CancelRun&, const Now&);
Decided<NewEvents> decide(const World&, const ConfirmCancel&, const Now&);
// RUN_NOT_FOUND, RUN_TERMINAL; no events if it is paused, or isn't, already.
Decided<NewEvents> decide(const World&, const PauseRun&, const Now&);
Decided<NewEvents> decide(const World&, const ResumeRun&, const Now&);

// RUN_NOT_FOUND, RUN_NOT_FAILED.
Decided<NewEvents> decide(const World&, const RetryRun&, const Now&);

// Station family. No events from a claim: nothing is ready.
Decided<NewEvents> decide(const World&, const ClaimStation&, const Now&);
Decided<NewEvents> decide(const World&, const HeartbeatStation&, const Now&);
Decided<NewEvents> decide(const World&, const SetExternalRef&, const Now&);
Decided<NewEvents> decide(const World&, const CompleteStation&, const Now&);
Decided<NewEvents> decide(const World&, const DeferStation&, const Now&);
Decided<NewEvents> decide(const World&, const DispatchStation&, const Now&);

// Timers. One that comes too late for what it was set for gives no events.
Decided<NewEvents> decide(const World&, const ExpireLease&, const Now&);
Decided<NewEvents> decide(const World&, const TimeOutStation&, const Now&);
Decided<NewEvents> decide(const World&, const StallStation&, const Now&);
Decided<NewEvents> decide(const World&, const WakeStation&, const Now&);
Decided<NewEvents> decide(const World&, const ExpireLock&, const Now&);
Decided<NewEvents> decide(const World&, const TimeOutTick&, const Now&);

// Lock family. A lease that is over has to be expired before: time is not for these to judge.
// LOCK_HELD; the holder itself renews its lease.
Decided<NewEvents> decide(const World&, const AcquireLock&, const Now&);
// LOCK_NOT_OWNED.
Decided<NewEvents> decide(const World&, const RefreshLock&, const Now&);
// LOCK_NOT_OWNED; no events if it was released before.
Decided<NewEvents> decide(const World&, const ReleaseLock&, const Now&);
Decided<NewEvents> decide(const World&, const NoteRefreshFailure&, const Now&);

// Tick family. TICK_IN_PROGRESS, PREVIOUS_TICK_INCOMPLETE, LOCK_LOST; a loop of the service itself
// recovers instead of halting.
Decided<NewEvents> decide(const World&, const BeginTick&, const Now&);
// STALE_TOKEN.
Decided<NewEvents> decide(const World&, const EndTick&, const Now&);
// TICK_IN_PROGRESS; no events if there is nothing to recover.
Decided<NewEvents> decide(const World&, const RecoverTick&, const Now&);
Decided<NewEvents> decide(const World&, const NoteTickSkipped&, const Now&);
Decided<NewEvents> decide(const World&, const NoteTickIncomplete&, const Now&);
Decided<NewEvents> decide(const World&, const NoteTicksMissed&, const Now&);

// Access family. ACCESS_TOKEN_EXISTS, LIMIT_EXCEEDED.
Decided<NewEvents> decide(const World&, const IssueAccessToken&, const Now&);
// ACCESS_TOKEN_NOT_FOUND; no events if it was revoked before.
Decided<NewEvents> decide(const World&, const RevokeAccessToken&, const Now&);
// No events within a streak that was noted.
Decided<NewEvents> decide(const World&, const NoteAccessDenied&, const Now&);
// No events if it is the one in use.
Decided<NewEvents> decide(const World&, const AdoptAuditKey&, const Now&);
// Plan family: deep work. PLAN_NOT_FOUND where the run's current station isn't, STALE_TOKEN,
// PLAN_ORDER where the plan isn't at the point where this belongs.
Decided<NewEvents> decide(const World&, const SetExploration&, const Now&);
// PLAN_INVALID, LIMIT_EXCEEDED.
Decided<NewEvents> decide(const World&, const SetPlan&, const Now&);
Decided<NewEvents> decide(const World&, const ResetPlan&, const Now&);

// Step family. No events from a NextStep: there is nothing to take now.
Decided<NewEvents> decide(const World&, const NextStep&, const Now&);
// STEP_NOT_FOUND, STALE_TOKEN.
Decided<NewEvents> decide(const World&, const HeartbeatStep&, const Now&);
Decided<NewEvents> decide(const World&, const CompleteStep&, const Now&);
Decided<NewEvents> decide(const World&, const FailStep&, const Now&);
// Timers.
Decided<NewEvents> decide(const World&, const ExpireStepLease&, const Now&);
Decided<NewEvents> decide(const World&, const TimeOutStep&, const Now&);
Decided<NewEvents> decide(const World&, const WakeStep&, const Now&);

// Project family. INVALID_PARAMS, PIPELINE_INVALID, LIMIT_EXCEEDED; no events where nothing
// changes.
Decided<NewEvents> decide(const World&, const PutProject&, const Now&);
// PROJECT_NOT_FOUND; no events where it is known.
Decided<NewEvents> decide(const World&, const AdoptPolicy&, const Now&);
Decided<NewEvents> decide(const World&, const RefusePolicy&, const Now&);
Decided<NewEvents> decide(const World&, const NoteWorktree&, const Now&);

// Card family. PROJECT_NOT_FOUND, LIMIT_EXCEEDED.
Decided<NewEvents> decide(const World&, const SubmitCard&, const Now&);
// CARD_NOT_FOUND, CARD_BUSY while a run of it is under way.
Decided<NewEvents> decide(const World&, const BlockCard&, const Now&);
// CARD_NOT_FOUND; no events if it is neither blocked nor failed.
Decided<NewEvents> decide(const World&, const UnblockCard&, const Now&);
// CARD_BUSY if it isn't the next one (any more), and as StartRun.
Decided<NewEvents> decide(const World&, const StartCard&, const Now&);
Decided<NewEvents> decide(const World&, const MergeCard&, const Now&);
Decided<NewEvents> decide(const World&, const RetryBlockedCards&, const Now&);

// Server family.
Decided<NewEvents> decide(const World&, const PruneRuns&, const Now&);
Decided<NewEvents> decide(const World&, const StartServer&, const Now&);
Decided<NewEvents> decide(const World&, const StopServer&, const Now&);
Decided<NewEvents> decide(const World&, const FinishRecovery&, const Now&);
Decided<NewEvents> decide(const World&, const NoteClockJump&, const Now&);

// Appends to what was decided about a run the events of the card that it is the run of, or the
// merge: they are one commit, so that a card never says anything else than its run.
void add_card_events(const World& world, NewEvents& events, const Now& now);

// Routes to the overload for the command that it holds, and adds the events of cards.
Decided<NewEvents> decide(const World& world, const Command& command, const Now& now);

}  // namespace signalbox
