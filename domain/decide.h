// decide(world, command, now) → events or a rejection. Pure: no clock, no I/O, no randomness.
//
// One file per noun (decide_run.cc, decide_station.cc, decide_server.cc). Guards run from the most
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
Decided<NewEvents> decide(const World&, const WakeStation&, const Now&);

// Server family.
Decided<NewEvents> decide(const World&, const StartServer&, const Now&);
Decided<NewEvents> decide(const World&, const StopServer&, const Now&);

// Routes to the overload for the command that it holds.
Decided<NewEvents> decide(const World& world, const Command& command, const Now& now);

}  // namespace signalbox
