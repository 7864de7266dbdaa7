// Decisions that time brings: a lease, a timeout, the end of a wait. A timer is set from state and
// may fire after that state has moved on; then there is nothing to decide.
#include "domain/attempt_end.h"
#include "domain/decide.h"

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
  return end_attempt(*run,
                     {Outcome::timeout, ErrorClass::transient, "TIMEOUT",
                      "not done after " + std::to_string(run->definition().timeout_ms) + " ms"},
                     {}, now);
}

Decided<NewEvents> decide(const World& world, const WakeStation& command, const Now&) {
  const Run* run = world.find_run(command.run_id);
  if (run == nullptr || run->station().status != StationStatus::waiting) return NewEvents{};
  return NewEvents{
      {Stream::run(run->id), {}, 0, StationEvent{StationReady{run->definition().name}}}};
}

}  // namespace signalbox
