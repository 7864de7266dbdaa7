#include "domain/step_end.h"

#include <algorithm>
#include <set>
#include <utility>

#include "domain/check.h"

namespace signalbox {
namespace {

// Number of steps that the error of incomplete_todo() names.
constexpr std::size_t named_steps_max = 10;

// Returns the strategy index of the next attempt, or nullopt if there is none. The last attempt
// always takes the last strategy, so that it is reached however few attempts there are.
std::optional<std::uint8_t> next_strategy_index(const Run& run, const StepState& step,
                                                ErrorClass error_class) {
  const DeepWorkDefinition& work = *run.definition().deep_work;
  const std::uint32_t max_retries = run.max_retries.value_or(work.max_retries);
  if (step.failures >= max_retries || error_class == ErrorClass::config) return std::nullopt;
  const auto last = static_cast<std::uint8_t>(work.strategies.size() - 1);
  if (step.failures + 1 == max_retries) return last;
  const bool same = error_class != ErrorClass::terminal;
  return same ? step.strategy_index
              : static_cast<std::uint8_t>(std::min<std::uint32_t>(step.strategy_index + 1U, last));
}

// Returns the pending steps that depend on `failed`, directly or transitively, in the order of the
// plan.
std::vector<const StepState*> dependents_of(const Plan& plan, const std::string& failed) {
  std::set<std::string> unreachable{failed};
  for (bool grown = true; grown;) {
    grown = false;
    for (const StepState& step : plan.steps) {
      if (unreachable.contains(step.definition.id)) continue;
      const auto& needed = step.definition.dependencies;
      if (std::any_of(needed.begin(), needed.end(),
                      [&](const std::string& id) { return unreachable.contains(id); })) {
        unreachable.insert(step.definition.id);
        grown = true;
      }
    }
  }
  std::vector<const StepState*> dependents;
  for (const StepState& step : plan.steps) {
    if (step.status == StepStatus::pending && unreachable.contains(step.definition.id)) {
      dependents.push_back(&step);
    }
  }
  return dependents;
}

}  // namespace

NewEvents end_step_attempt(const Run& run, const StepState& step, Failure failure, const Now& now) {
  SIGNALBOX_CHECK(step.status == StepStatus::running);
  const DeepWorkDefinition& work = *run.definition().deep_work;
  const std::string& id = step.definition.id;
  NewEvents events;
  const auto add = [&](PlanEvent event) {
    events.push_back({Stream::run(run.id), run.attempt ? run.attempt->span_id : Uuid{}, step.token,
                      std::move(event)});
  };
  if (const auto next = next_strategy_index(run, step, failure.error_class)) {
    add(StepAttemptFailed{id, step.attempts, std::move(failure),
                          now.wall_ns + work.retry_delay_ms * 1'000'000, work.strategies[*next]});
    if (work.retry_delay_ms == 0) add(StepReady{id});
    return events;
  }
  const bool refused = failure.error_class == ErrorClass::config;
  add(StepFailed{id, step.attempts, refused ? failure.code : "RETRY_EXHAUSTED",
                 std::move(failure)});
  for (const StepState* const blocked : dependents_of(*run.plan, id)) {
    add(StepBlocked{blocked->definition.id, id});
  }
  return events;
}

NewEvents end_own_steps(const Run& run, const std::string& why, const Now& now) {
  NewEvents events;
  if (!run.plan) return events;
  std::set<std::string> blocked;  // a step may depend on several that fail
  for (const StepState& step : run.plan->steps) {
    if (step.status != StepStatus::running || step.lease_ms != 0) continue;
    const Failure failure{Outcome::failed, ErrorClass::lost, "STATION_ATTEMPT_ENDED",
                          "the attempt of its station ended: " + why};
    for (NewEvent& event : end_step_attempt(run, step, failure, now)) {
      const auto* blocks = event_as<StepBlocked>(event.event);
      if (blocks != nullptr && !blocked.insert(blocks->step).second) continue;
      events.push_back(std::move(event));
    }
  }
  return events;
}

NewEvents reopen_steps(const Run& run) {
  NewEvents events;
  if (!run.plan || !is_settled(*run.plan)) return events;
  for (const StepState& step : run.plan->steps) {
    if (step.status == StepStatus::completed) continue;
    events.push_back({Stream::run(run.id), {}, 0, PlanEvent{StepReopened{step.definition.id}}});
  }
  return events;
}

std::optional<Failure> incomplete_todo(const Run& run) {
  if (run.definition().executor != ExecutorKind::deep_work) return std::nullopt;
  const TodoStatus todo = run.plan ? todo_status(*run.plan) : TodoStatus{};
  if (todo.all_complete) return std::nullopt;
  std::string message = todo.total_steps == 0 ? "there is no plan" : "not completed:";
  const std::size_t named = std::min(todo.incomplete_step_ids.size(), named_steps_max);
  for (std::size_t index = 0; index < named; ++index) {
    message += (index == 0 ? " " : ", ") + todo.incomplete_step_ids[index];
  }
  if (named < todo.incomplete_step_ids.size()) {
    message += " and " + std::to_string(todo.incomplete_step_ids.size() - named) + " more";
  }
  return Failure{Outcome::failed, ErrorClass::terminal, "TODO_INCOMPLETE", message};
}

}  // namespace signalbox
