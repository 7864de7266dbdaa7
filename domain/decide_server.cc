// Decisions about the service itself: its starts and stops, recovery, clock jumps, pruning, rebuilt
// projections, and its pauses. Only these come from a person, and only they can be rejected.
#include <algorithm>

#include "domain/admission.h"
#include "domain/decide.h"
#include "domain/limits.h"
#include "domain/refusals.h"
#include "domain/try.h"

namespace signalbox {

// The first pause stands, with its reason and the person who asked for it.
Decided<NewEvents> decide(const World& world, const PauseService& command, const Now&) {
  const std::string reason = command.reason.value_or("");
  TRY(require_at_most("reason", reason, limits::reason_bytes_max));
  if (world.server.pause) return NewEvents{};
  return NewEvents{{Stream::server(), {}, 0, ServerEvent{ServicePaused{reason}}}};
}

Decided<NewEvents> decide(const World& world, const ResumeService& command, const Now&) {
  const std::string reason = command.reason.value_or("");
  TRY(require_at_most("reason", reason, limits::reason_bytes_max));
  if (!world.server.pause) return NewEvents{};
  const ServicePause& pause = *world.server.pause;
  if (command.seen && *command.seen < pause.position) {
    return reject(
        ErrorCode::OUTDATED,
        "the service was paused anew since position " + std::to_string(*command.seen) + ": " +
            pause_text(pause),
        {{"seen", static_cast<std::int64_t>(*command.seen)},
         {"paused_position", static_cast<std::int64_t>(pause.position)},
         {"by", pause.by},
         {"reason", pause.reason}},
        {"signalbox status", "signalbox resume --all --seen " + std::to_string(pause.position)});
  }
  return NewEvents{{Stream::server(), {}, pause.position, ServerEvent{ServiceResumed{reason}}}};
}

Decided<NewEvents> decide(const World& world, const StartServer& command, const Now&) {
  PreviousEnd previous = PreviousEnd::none;
  if (world.server.incarnation > 0) {
    previous = world.server.serving ? PreviousEnd::crashed : PreviousEnd::clean;
  }
  return NewEvents{
      {Stream::server(),
       {},
       0,
       ServerEvent{ServerStarted{world.server.incarnation + 1, command.version, previous}}}};
}

Decided<NewEvents> decide(const World& world, const StopServer&, const Now&) {
  return NewEvents{{Stream::server(), {}, 0, ServerEvent{ServerStopped{world.server.incarnation}}}};
}

Decided<NewEvents> decide(const World& world, const FinishRecovery& command, const Now&) {
  RecoveryFinished finished{world.server.incarnation,
                            command.last_durable_position,
                            command.torn_bytes,
                            command.items.size(),
                            command.items,
                            command.report};
  if (finished.items.size() > limits::recovered_items_max) {
    finished.items.resize(limits::recovered_items_max);
  }
  return NewEvents{{Stream::server(), {}, 0, ServerEvent{std::move(finished)}}};
}

Decided<NewEvents> decide(const World& world, const PruneRuns& command, const Now& now) {
  RunsPruned pruned;
  world.ended_runs.for_each([&](const RunId&, const EndedRun& ended) {
    if (!ended.idempotency_key.empty()) return;
    if (now.wall_ns - ended.ended_at_ns < command.after_ms * 1'000'000) return;
    pruned.through = std::max(pruned.through, ended.ended_at);
    ++pruned.runs;
  });
  if (pruned.runs == 0) return NewEvents{};
  return NewEvents{{Stream::server(), {}, 0, ServerEvent{pruned}}};
}

Decided<NewEvents> decide(const World&, const NoteClockJump& command, const Now&) {
  return NewEvents{
      {Stream::server(),
       {},
       0,
       ServerEvent{ClockJumped{command.wall_ms, command.monotonic_ms, command.cause}}}};
}

Decided<NewEvents> decide(const World&, const NoteCellTaken& command, const Now&) {
  return NewEvents{
      {Stream::server(),
       {},
       0,
       ServerEvent{CellTaken{command.cell, command.server, command.epoch, command.cause}}}};
}

Decided<NewEvents> decide(const World&, const NoteProjectionRebuilt& command, const Now&) {
  return NewEvents{{Stream::server(),
                    {},
                    0,
                    ServerEvent{ProjectionRebuilt{command.projection, command.reason,
                                                  command.through, command.took_ms}}}};
}

}  // namespace signalbox
