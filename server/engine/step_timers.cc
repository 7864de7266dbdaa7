#include "server/engine/step_timers.h"

#include <algorithm>

#include "domain/limits.h"
#include "domain/nanoseconds.h"

namespace signalbox {
namespace {

constexpr std::int64_t own_step_patience_ms = 60'000;

}  // namespace

// A step without a lease is done by its station's own worker.
void StepTimers::arm_lease(const Run& run, const StepState& step, std::int64_t monotonic_ns) {
  if (step.lease_ms == 0) return;
  queue_.arm({run.id, step.definition.id, Kind::lease}, monotonic_ns + step.lease_ms * ns_per_ms);
}

void StepTimers::arm_on_record(const Run& run, const StepState& step, std::int64_t monotonic_ns) {
  queue_.arm({run.id, step.definition.id, Kind::on_record},
             monotonic_ns + limits::unrecorded_renewal_ms_max * ns_per_ms);
}

bool StepTimers::renew(const Run& run, const StepState& step, std::int64_t monotonic_ns) {
  const auto due_ns = queue_.due_of({run.id, step.definition.id, Kind::on_record});
  if (!due_ns || *due_ns <= monotonic_ns) return false;
  arm_lease(run, step, monotonic_ns);
  return true;
}

void StepTimers::arm_timeout(const Run& run, const StepState& step, std::int64_t monotonic_ns) {
  std::int64_t length_ms = run.definition().deep_work->step_timeout_ms;
  // Its station's own worker ends such a step by itself, which takes a while. But what it started
  // can take a step with the station's token as well, and leave it.
  if (step.lease_ms == 0) length_ms += run.definition().cancel_grace_ms + own_step_patience_ms;
  queue_.arm({run.id, step.definition.id, Kind::timeout}, monotonic_ns + length_ms * ns_per_ms);
}

void StepTimers::arm_wait(const Run& run, const StepState& step, std::int64_t wall_ns,
                          std::int64_t monotonic_ns) {
  const std::int64_t left_ns = std::clamp<std::int64_t>(step.waiting_until_ns - wall_ns, 0,
                                                        limits::backoff_ms_max * ns_per_ms);
  queue_.arm({run.id, step.definition.id, Kind::wait}, monotonic_ns + left_ns);
}

void StepTimers::restart(const Run& run, std::int64_t monotonic_ns) {
  if (!run.plan) return;
  for (const StepState& step : run.plan->steps) {
    if (step.status != StepStatus::running) continue;
    arm_lease(run, step, monotonic_ns);
    arm_timeout(run, step, monotonic_ns);
  }
}

void StepTimers::arm_all(const World& world, std::int64_t wall_ns, std::int64_t monotonic_ns) {
  queue_.clear();
  for (const RunId& id : world.planned) {
    const Run& run = *world.find_run(id);
    for (const StepState& step : run.plan->steps) {
      if (step.status == StepStatus::waiting) arm_wait(run, step, wall_ns, monotonic_ns);
    }
  }
  restart_leases(world, monotonic_ns);
}

void StepTimers::restart_leases(const World& world, std::int64_t monotonic_ns) {
  for (const RunId& id : world.planned) restart(*world.find_run(id), monotonic_ns);
}

void StepTimers::apply(const Run& run, const Record& record, std::int64_t wall_ns,
                       std::int64_t monotonic_ns) {
  if (!run.plan) return;
  const auto step_of = [&run](const std::string& id, StepStatus status) -> const StepState* {
    const StepState* const step = run.plan->find(id);
    return step != nullptr && step->status == status ? step : nullptr;
  };
  if (const auto* started = event_as<StepAttemptStarted>(record.event)) {
    if (const StepState* const step = step_of(started->step, StepStatus::running)) {
      arm_lease(run, *step, monotonic_ns);
      arm_timeout(run, *step, monotonic_ns);
      queue_.disarm({run.id, step->definition.id, Kind::on_record});
    }
  } else if (const auto* beat = event_as<StepHeartbeat>(record.event)) {
    if (const StepState* const step = step_of(beat->step, StepStatus::running)) {
      arm_lease(run, *step, monotonic_ns);
      arm_on_record(run, *step, monotonic_ns);
    }
  } else if (const auto* failed = event_as<StepAttemptFailed>(record.event)) {
    if (const StepState* const step = step_of(failed->step, StepStatus::waiting)) {
      arm_wait(run, *step, wall_ns, monotonic_ns);
    }
  } else if (event_as<RunResumed>(record.event) != nullptr) {
    restart(run, monotonic_ns);  // the steps of a paused run have no timeout
  }
}

// A deadline of an attempt that is over isn't disarmed: the next attempt replaces it under the same
// key; decide() adds no event for one that expires.
void StepTimers::take_due(const World& world, std::int64_t monotonic_ns,
                          std::vector<Command>& due) {
  while (const auto taken = queue_.take_due(monotonic_ns)) {
    const Key& key = taken->second;
    const Run* const run = world.find_run(key.run_id);
    if (run == nullptr || !run->plan) continue;
    const StepState* const step = run->plan->find(key.step);
    if (step == nullptr) continue;
    switch (key.kind) {
      case Kind::lease:
        due.push_back(ExpireStepLease{run->id, key.step, step->token, step->lease_renewed_at});
        break;
      case Kind::timeout:
        due.push_back(TimeOutStep{run->id, key.step, step->token});
        break;
      case Kind::wait:
        due.push_back(WakeStep{run->id, key.step});
        break;
      case Kind::on_record:
        break;
    }
  }
}

}  // namespace signalbox
