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

// Server family.
Decided<NewEvents> decide(const World&, const StartServer&, const Now&);
Decided<NewEvents> decide(const World&, const StopServer&, const Now&);
Decided<NewEvents> decide(const World&, const FinishRecovery&, const Now&);
Decided<NewEvents> decide(const World&, const NoteClockJump&, const Now&);

// Routes to the overload for the command that it holds.
Decided<NewEvents> decide(const World& world, const Command& command, const Now& now);

}  // namespace signalbox
