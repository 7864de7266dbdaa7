// Decisions of the timers of a station: lease, timeout, stall, the end of a wait. A timer is set
// from the state and may fire after that state has changed; then it leads to no events.
#include "domain/attempt_end.h"
#include "domain/decide.h"
#include "domain/station_turn.h"

namespace signalbox {
namespace {

const Run* run_with_attempt(const World& world, const RunId& id, Token token) {
  const Run* run = world.find_run(id);
  if (run == nullptr || !run->attempt || run->attempt->token != token) return nullptr;
  return run;
}

}  // namespace

Decided<NewEvents> decide(const World& world, const ExpireLease& command, const Now& now) {
  const Run* run = run_with_attempt(world, command.run_id, command.token);
  if (run == nullptr || run->attempt->lease_ms == 0) return NewEvents{};
  if (run->attempt->lease_renewed_at != command.lease_renewed_at) return NewEvents{};
  return end_attempt(*run,
                     {Outcome::failed, ErrorClass::lost, "LEASE_EXPIRED",
                      "no word from " + run->attempt->worker + " for " +
                          std::to_string(run->attempt->lease_ms) + " ms"},
                     {}, now);
}

Decided<NewEvents> decide(const World& world, const TimeOutStation& command, const Now& now) {
  const Run* run = run_with_attempt(world, command.run_id, command.token);
  if (run == nullptr || run->attempt->lease_ms == 0) return NewEvents{};
  if (run->status == RunStatus::paused) return NewEvents{};
  if (run->attempt->timer_origin() != command.timer_origin) return NewEvents{};
  NewEvents events{watchdog_timed_out(*run, command.elapsed_ms)};
  for (NewEvent& event :
       end_attempt(*run,
                   {Outcome::timeout, ErrorClass::transient, "TIMEOUT",
                    "not done after " + std::to_string(run->definition().timeout_ms) + " ms"},
                   {}, now)) {
    events.push_back(std::move(event));
  }
  return events;
}

Decided<NewEvents> decide(const World& world, const StallStation& command, const Now& now) {
  const Run* run = run_with_attempt(world, command.run_id, command.token);
  if (run == nullptr || run->status == RunStatus::paused || run->cancel_requested) {
    return NewEvents{};
  }
  if (asks_approval(*run)) return NewEvents{};  // it is a person who keeps it waiting
  const Attempt& attempt = *run->attempt;
  if (attempt.ending || attempt.last_progress_at != command.last_progress_at ||
      attempt.stalls != command.stalls) {
    return NewEvents{};
  }
  const StallAction action = stall_action(run->definition(), attempt.stalls);
  NewEvents events{
      {Stream::run(run->id), attempt.span_id, attempt.token,
       StationEvent{StationStalled{run->definition().name, attempt.number, attempt.progress_digest,
                                   command.stalled_ms, action}}}};
  // A job of the service has to be ended first; the attempt ends when the job has.
  if (action == StallAction::nudge || !attempt.job_id.empty()) return events;
  Run stalled = *run;
  stalled.attempt->stalls += 1;
  for (NewEvent& event : end_stalled_attempt(stalled, {}, now)) events.push_back(std::move(event));
  return events;
}

Decided<NewEvents> decide(const World& world, const WakeStation& command, const Now&) {
  const Run* run = world.find_run(command.run_id);
  return run == nullptr ? NewEvents{} : end_of_wait(*run);
}

NewEvents end_of_wait(const Run& run) {
  if (run.station().status != StationStatus::waiting) return {};
  if (run.attempt) return {};  // it waits for the attempt or a person, not for a time
  if (waits_for_person(run.station().waiting)) return {};
  const Stream stream = Stream::run(run.id);
  if (const auto held = held_at_turn(run.definition(), run.budget, run.used)) {
    return {{stream, {}, 0, StationEvent{*held}}};
  }
  return {{stream, {}, 0, StationEvent{StationReady{run.definition().name}}}};
}

}  // namespace signalbox
