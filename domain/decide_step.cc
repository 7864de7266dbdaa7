// Decisions about the steps of a plan: start an attempt, heartbeat, complete, fail; and the timers
// of a step. What follows a failed attempt is in step_end.h.
#include "domain/check.h"
#include "domain/decide.h"
#include "domain/limits.h"
#include "domain/refusals.h"
#include "domain/step_end.h"
#include "domain/try.h"

namespace signalbox {
namespace {

// Returns whether a step can start: one is available, the station's own attempt is under way, and
// the run is neither paused nor being canceled.
bool may_start(const Run& run) {
  return run.attempt && !run.attempt->ending && !run.cancel_requested &&
         run.status != RunStatus::paused && available_step(*run.plan) != nullptr;
}

NewEvents start_step(const Run& run, const std::string& worker, std::int64_t lease_ms) {
  const StepState& step = *available_step(*run.plan);
  const DeepWorkDefinition& work = *run.definition().deep_work;
  return {
      {Stream::run(run.id), run.attempt->span_id, run.attempt->token,
       PlanEvent{StepAttemptStarted{run.definition().name, step.definition.id, step.attempts + 1,
                                    work.strategies[step.strategy_index], worker, lease_ms}}}};
}

// Returns the run with an available step for outside workers whose station attempt began first, or
// nullptr.
const Run* oldest_for_workers(const World& world) {
  const Run* oldest = nullptr;
  for (const RunId& id : world.planned) {
    const Run* const run = world.find_run(id);
    SIGNALBOX_CHECK(run != nullptr);
    if (!steps_are_for_workers(*run->definition().deep_work) || !may_start(*run)) continue;
    if (oldest == nullptr || run->attempt->token < oldest->attempt->token) oldest = run;
  }
  return oldest;
}

Decided<NewEvents> own_step(const World& world, const NextStep& command, const Sender& by) {
  if (!command.run_id) {
    return reject(ErrorCode::INVALID_PARAMS, "a token belongs to a run: run_id is missing",
                  {{"field", std::string("run_id")}});
  }
  const auto held = TRY(planned_station(world, *command.run_id, {}, *command.token, by));
  const Run& run = *held;
  if (steps_are_for_workers(*run.definition().deep_work) || !may_start(run)) return NewEvents{};
  return start_step(run, command.worker, /*lease_ms=*/0);
}

const StepState* running_step(const World& world, const RunId& id, const std::string& step,
                              Token token) {
  const Run* const run = world.find_run(id);
  if (run == nullptr || !run->plan) return nullptr;
  const StepState* const found = run->plan->find(step);
  return found != nullptr && found->status == StepStatus::running && found->token == token
             ? found
             : nullptr;
}

NewEvent event_of(const HeldStep& held, PlanEvent event) {
  return {Stream::run(held.run->id), held.run->attempt ? held.run->attempt->span_id : Uuid{},
          held.step->token, std::move(event)};
}

}  // namespace

Decided<NewEvents> decide(const World& world, const NextStep& command, const Now& now) {
  TRY(require_name("worker", command.worker, limits::name_bytes_max));
  TRY(require_lease(command.lease_ms));
  if (command.token) return own_step(world, command, now.by);
  const Run* run = nullptr;
  if (command.run_id) {
    const auto planned = TRY(planned_run(world, *command.run_id));
    run = planned;
    if (!steps_are_for_workers(*run->definition().deep_work)) {
      return reject(
          ErrorCode::STATION_NOT_CLAIMABLE,
          "the steps of station " + run->definition().name + " are done by its own command",
          {{"run_id", to_string(run->id)}, {"station", run->definition().name}},
          {"signalbox plan get " + to_string(run->id)});
    }
    if (!may_start(*run)) return NewEvents{};
  } else {
    run = oldest_for_workers(world);
    if (run == nullptr) return NewEvents{};
  }
  return start_step(*run, command.worker,
                    command.lease_ms.value_or(run->definition().heartbeat_timeout_ms));
}

Decided<NewEvents> decide(const World& world, const HeartbeatStep& command, const Now& now) {
  TRY(require_lease(command.lease_ms));
  const auto held = TRY(held_step(world, command.run_id, command.step, command.token, now.by));
  TRY(require_room(*held.run));
  // A step without a lease lasts as long as its station's attempt, and can't give itself one.
  const std::int64_t lease_ms =
      held.step->lease_ms == 0 ? 0 : command.lease_ms.value_or(held.step->lease_ms);
  return NewEvents{event_of(held, StepHeartbeat{command.step, lease_ms})};
}

bool is_mere_renewal(const World& world, const HeartbeatStep& command) {
  const StepState* const step = running_step(world, command.run_id, command.step, command.token);
  return step != nullptr &&
         (step->lease_ms == 0 || command.lease_ms.value_or(step->lease_ms) == step->lease_ms);
}

Decided<NewEvents> decide(const World& world, const CompleteStep& command, const Now& now) {
  const std::string summary = command.summary.value_or("");
  TRY(require_at_most("summary", summary, limits::summary_bytes_max));
  const auto held = TRY(held_step(world, command.run_id, command.step, command.token, now.by));
  return NewEvents{event_of(held, StepCompleted{command.step, held.step->attempts, summary})};
}

Decided<NewEvents> decide(const World& world, const FailStep& command, const Now& now) {
  Failure failure{Outcome::failed, command.error_class.value_or(ErrorClass::terminal),
                  command.error_code.value_or("FAILED"), command.error_message.value_or("")};
  TRY(require_name("error_code", failure.code, limits::name_bytes_max));
  TRY(require_token("error_code", failure.code, limits::name_bytes_max));
  TRY(require_at_most("error_message", failure.message, limits::reason_bytes_max));
  const auto held = TRY(held_step(world, command.run_id, command.step, command.token, now.by));
  return end_step_attempt(*held.run, *held.step, std::move(failure), now);
}

Decided<NewEvents> decide(const World& world, const ExpireStepLease& command, const Now& now) {
  const StepState* const step = running_step(world, command.run_id, command.step, command.token);
  if (step == nullptr || step->lease_ms == 0) return NewEvents{};
  if (step->lease_renewed_at != command.lease_renewed_at) return NewEvents{};
  return end_step_attempt(
      *world.find_run(command.run_id), *step,
      {Outcome::failed, ErrorClass::lost, "LEASE_EXPIRED",
       "no word from " + step->worker + " for " + std::to_string(step->lease_ms) + " ms"},
      now);
}

Decided<NewEvents> decide(const World& world, const TimeOutStep& command, const Now& now) {
  const StepState* const step = running_step(world, command.run_id, command.step, command.token);
  if (step == nullptr) return NewEvents{};
  const Run& run = *world.find_run(command.run_id);
  if (run.status == RunStatus::paused) return NewEvents{};
  return end_step_attempt(
      run, *step,
      {Outcome::timeout, ErrorClass::terminal, "TIMEOUT",
       "not done after " + std::to_string(run.definition().deep_work->step_timeout_ms) + " ms"},
      now);
}

Decided<NewEvents> decide(const World& world, const WakeStep& command, const Now&) {
  const Run* const run = world.find_run(command.run_id);
  if (run == nullptr || !run->plan) return NewEvents{};
  const StepState* const step = run->plan->find(command.step);
  if (step == nullptr || step->status != StepStatus::waiting) return NewEvents{};
  return NewEvents{{Stream::run(run->id), {}, 0, PlanEvent{StepReady{command.step}}}};
}

}  // namespace signalbox
