// How the events of plans and their steps change the world.
#include <algorithm>

#include "domain/check.h"
#include "domain/evolve.h"

namespace signalbox {
namespace {

void evolve(World&, const Run&, Plan& plan, const Record&, const ExplorationFinished& event) {
  plan.exploration = event.exploration;
}
void evolve(World&, const Run&, Plan&, const Record&, const ExplorationTimedOut&) {}
void evolve(World&, const Run&, Plan& plan, const Record&, const PlanSet& event) {
  plan.cut = event.cut;
  for (const StepDefinition& definition : event.steps) {
    SIGNALBOX_CHECK(plan.find(definition.id) == nullptr);
    plan.steps.emplace_back().definition = definition;
  }
}
void evolve(World&, const Run&, Plan& plan, const Record&, const PlanRestored& event) {
  SIGNALBOX_CHECK(plan.steps.empty());
  plan.cut = event.cut;
  for (const RestoredStep& each : event.steps) {
    StepState& step = plan.steps.emplace_back();
    step.definition = each.definition;
    step.attempts = each.attempts;
    if (each.completed) step.status = StepStatus::completed;
  }
}
void evolve(World& world, const Run&, Plan& plan, const Record&, const PlanReset&) {
  plan.cut = 0;
  std::erase_if(plan.steps, [&world](const StepState& step) {
    if (step.status != StepStatus::completed) world.holders.erase(step.token);
    return step.status != StepStatus::completed;
  });
}

void evolve(World& world, const Run&, StepState& step, const Record& record,
            const StepAttemptStarted& event) {
  ++step.attempts;
  SIGNALBOX_CHECK(step.attempts == event.attempt);
  step.token = record.position;
  world.holders.emplace_hint(world.holders.end(), record.position, record.actor);
  step.worker = event.worker;
  step.lease_ms = event.lease_ms;
  step.lease_renewed_at = record.position;
}
void evolve(World&, const Run&, StepState& step, const Record& record, const StepHeartbeat& event) {
  step.lease_ms = event.lease_ms;
  step.lease_renewed_at = record.position;
}

void end_step_attempt(World& world, StepState& step) {
  world.holders.erase(step.token);
  step.token = 0;
  step.lease_ms = 0;
  step.lease_renewed_at = 0;
}

std::string text_of(const std::string& code, const Failure& failure) {
  std::string text = code == failure.code ? code : code + ": " + failure.code;
  if (!failure.message.empty()) text += ": " + failure.message;
  return text;
}

void evolve(World& world, const Run&, StepState& step, const Record&, const StepCompleted& event) {
  end_step_attempt(world, step);
  step.summary = event.summary;
  step.error.clear();
}
void evolve(World& world, const Run& run, StepState& step, const Record&,
            const StepAttemptFailed& event) {
  end_step_attempt(world, step);
  ++step.failures;
  step.error = text_of(event.failure.code, event.failure);
  step.waiting_until_ns = event.retry_at_ns;
  const auto& strategies = run.definition().deep_work->strategies;
  const auto next = std::find(strategies.begin(), strategies.end(), event.next_strategy);
  SIGNALBOX_CHECK(next != strategies.end());
  step.strategy_index = static_cast<std::uint8_t>(next - strategies.begin());
}
void evolve(World&, const Run&, StepState& step, const Record&, const StepReady&) {
  step.waiting_until_ns = 0;
}
void evolve(World& world, const Run&, StepState& step, const Record&, const StepFailed& event) {
  end_step_attempt(world, step);
  ++step.failures;
  step.error = text_of(event.code, event.failure);
}
void evolve(World&, const Run&, StepState& step, const Record&, const StepBlocked& event) {
  step.blocked_by = event.by;
}
// The step's error stays, for its next attempt.
void evolve(World&, const Run&, StepState& step, const Record&, const StepReopened&) {
  step.failures = 0;
  step.strategy_index = 0;
  step.blocked_by.clear();
}

template <class T>
concept StepEvent = requires(const T& event) {
  event.step;
};

}  // namespace

void evolve_noun(World& world, const Record& record, const PlanEvent& noun) {
  Run* const run = world.find_run(record.stream.run_id);
  SIGNALBOX_CHECK(run != nullptr);
  SIGNALBOX_CHECK(run->plan.has_value());
  const bool sets_plan = std::holds_alternative<PlanSet>(noun);
  note_record(*run, record.position, sets_plan ? Run::records_of_plan : 1);
  Plan& plan = *run->plan;
  std::visit(
      [&](const auto& event) {
        if constexpr (StepEvent<decltype(event)>) {
          StepState* const step = plan.find(event.step);
          SIGNALBOX_CHECK(step != nullptr);
          const auto next = next_status(step->status, event.tag.number);
          SIGNALBOX_CHECK(next.has_value());
          step->status = *next;
          evolve(world, *run, *step, record, event);
        } else {
          const auto next = next_status(plan.status, event.tag.number);
          SIGNALBOX_CHECK(next.has_value());
          plan.status = *next;
          evolve(world, *run, plan, record, event);
        }
      },
      noun);
}

}  // namespace signalbox
