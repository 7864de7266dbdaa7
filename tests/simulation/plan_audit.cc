#include "tests/simulation/plan_audit.h"

#include <algorithm>

namespace signalbox::simulation {
namespace {

namespace json = boost::json;

bool is_completed(const AuditedPlan& plan, const std::string& id) {
  const auto place = plan.steps.find(id);
  return place != plan.steps.end() && place->second.status == StepStatus::completed;
}

bool all_completed(const AuditedPlan& plan, const std::vector<std::string>& ids) {
  return std::all_of(ids.begin(), ids.end(),
                     [&plan](const std::string& id) { return is_completed(plan, id); });
}

// Returns true if a failed step is among all that this one needs, directly or transitively.
bool needs_failed(const AuditedPlan& plan, const AuditedStep& step) {
  return std::any_of(step.needs.begin(), step.needs.end(), [&plan](const std::string& id) {
    const auto place = plan.steps.find(id);
    return place != plan.steps.end() &&
           (place->second.status == StepStatus::failed || needs_failed(plan, place->second));
  });
}

// Returns true if the steps can be done in some order. Finds one by trying.
bool is_doable(const AuditedPlan& plan) {
  std::set<std::string> done;
  for (bool grown = true; grown;) {
    grown = false;
    for (const auto& [id, step] : plan.steps) {
      const bool ready =
          std::all_of(step.needs.begin(), step.needs.end(),
                      [&done](const std::string& each) { return done.contains(each); });
      if (ready && done.insert(id).second) grown = true;
    }
  }
  return done.size() == plan.steps.size();
}

std::uint32_t retries_of(const AuditedRun& run) {
  return run.max_retries.value_or(run.station().deep_work->max_retries);
}

}  // namespace

void PlanAudit::begin(AuditedRun& run) {
  if (run.station().executor == ExecutorKind::deep_work && !run.plan) run.plan.emplace();
}

void PlanAudit::succeed(const Record& record, AuditedRun& run) {
  if (run.station().executor != ExecutorKind::deep_work) return;
  if (!run.plan) return wrong(record, "its station has no deep work under way");
  const AuditedPlan& plan = *run.plan;
  const bool complete = std::all_of(plan.steps.begin(), plan.steps.end(), [](const auto& entry) {
    return entry.second.status == StepStatus::completed;
  });
  if (plan.status != PlanStatus::set || plan.steps.empty() || !complete) {
    wrong(record, "not all of its steps are completed");
  }
  run.plan.reset();
}

void PlanAudit::read(const Record& record, AuditedRun& run, const PlanEvent& event) {
  if (!run.plan) return wrong(record, "its station has no deep work under way");
  AuditedPlan& plan = *run.plan;
  const auto be = [&](PlanStatus from, PlanStatus to) {
    if (plan.status != from) wrong(record, "it has no place now");
    plan.status = to;
  };
  if (std::holds_alternative<ExplorationTimedOut>(event)) {
    be(PlanStatus::exploring, PlanStatus::exploring);
  } else if (std::holds_alternative<ExplorationFinished>(event)) {
    be(PlanStatus::exploring, PlanStatus::planning);
  } else if (const auto* set = std::get_if<PlanSet>(&event)) {
    be(PlanStatus::planning, PlanStatus::set);
    read_plan(record, run, *set);
  } else if (const auto* restored = std::get_if<PlanRestored>(&event)) {
    be(PlanStatus::planning, PlanStatus::set);
    read_restored(record, run, *restored);
  } else if (std::holds_alternative<PlanReset>(event)) {
    be(PlanStatus::set, PlanStatus::planning);
    std::erase_if(plan.steps,
                  [](const auto& entry) { return entry.second.status != StepStatus::completed; });
  } else {
    const std::string id = std::visit(
        [](const auto& each) -> std::string {
          if constexpr (requires { each.step; }) return each.step;
          return {};
        },
        event);
    const auto place = plan.steps.find(id);
    if (place == plan.steps.end()) return wrong(record, "the plan has no step " + id);
    read_step(record, run, place->second, event);
  }
}

void PlanAudit::read_plan(const Record& record, AuditedRun& run, const PlanSet& set) {
  AuditedPlan& plan = *run.plan;
  if (run.holder == 0 || record.cause != run.holder) wrong(record, "not for who holds the station");
  if (set.steps.empty()) wrong(record, "it has no step");
  if (set.steps.size() > run.station().deep_work->max_steps) wrong(record, "it has too many steps");
  for (const StepDefinition& definition : set.steps) {
    AuditedStep step;
    step.needs = definition.dependencies;
    step.strategy = run.station().deep_work->strategies.front();
    if (!plan.steps.emplace(definition.id, std::move(step)).second) {
      wrong(record, "step " + definition.id + " is there twice");
    }
  }
  if (!is_doable(plan)) wrong(record, "its steps can't be done in any order");
  const SentCommand* sent = book_.find(record.command_id);
  const json::value* proposed = sent == nullptr ? nullptr : sent->params.if_contains("steps");
  if (proposed == nullptr || proposed->as_array().size() != set.steps.size() + set.cut) {
    wrong(record, "it isn't what was proposed");
  }
}

// Audits a restored plan: steps that were completed when the run failed still are, and the others
// begin anew.
void PlanAudit::read_restored(const Record& record, AuditedRun& run, const PlanRestored& restored) {
  if (!run.failed_plan || run.failed_plan->steps.size() != restored.steps.size()) {
    return wrong(record, "the plan of the run that failed was another");
  }
  for (const RestoredStep& each : restored.steps) {
    const auto before = run.failed_plan->steps.find(each.definition.id);
    if (before == run.failed_plan->steps.end() ||
        before->second.needs != each.definition.dependencies ||
        before->second.attempts != each.attempts ||
        (before->second.status == StepStatus::completed) != each.completed) {
      return wrong(record, "step " + each.definition.id + " was another");
    }
    AuditedStep step;
    step.needs = each.definition.dependencies;
    step.attempts = each.attempts;
    step.strategy = run.station().deep_work->strategies.front();
    if (each.completed) step.status = StepStatus::completed;
    run.plan->steps.emplace(each.definition.id, std::move(step));
  }
}

void PlanAudit::read_start(const Record& record, AuditedRun& run, AuditedStep& step,
                           const StepAttemptStarted& started) {
  if (run.holder == 0 || record.cause != run.holder) wrong(record, "nobody holds the station");
  if (run.paused) wrong(record, "its run is paused");
  if (run.cancel_requested) wrong(record, "its run is being canceled");
  if (step.status == StepStatus::completed) wrong(record, "it is completed");
  if (step.status != StepStatus::pending) wrong(record, "its turn hasn't come");
  if (!all_completed(*run.plan, step.needs)) wrong(record, "it needs what isn't completed");
  if (started.attempt != ++step.attempts) wrong(record, "attempts have no gaps");
  if (started.strategy != step.strategy) wrong(record, "another strategy was due");
  const bool by_outsider = run.station().deep_work->step.command.empty();
  if (by_outsider != (started.lease_ms > 0)) wrong(record, "it is for another worker");
  step.status = StepStatus::running;
  step.token = record.position;
  step.leased = started.lease_ms > 0;
}

void PlanAudit::end_attempt(const Record& record, AuditedStep& step, StepStatus status) {
  if (step.status == StepStatus::completed) wrong(record, "it is completed");
  if (step.status != StepStatus::running) wrong(record, "nobody does it");
  if (record.cause != step.token) {
    wrong(record, "the word of token " + std::to_string(record.cause) + ", while " +
                      std::to_string(step.token) + " does the step");
  }
  step.status = status;
  step.token = 0;
}

void PlanAudit::read_failure(const Record& record, AuditedRun& run, AuditedStep& step,
                             ErrorClass error_class, bool another_follows) {
  const std::uint32_t max_retries = retries_of(run);
  if (another_follows == (error_class == ErrorClass::config || step.failures >= max_retries)) {
    wrong(record, "after " + std::to_string(step.failures) + " failures of at most " +
                      std::to_string(max_retries) + " retries");
  }
  ++step.failures;
}

void PlanAudit::read_step(const Record& record, AuditedRun& run, AuditedStep& step,
                          const PlanEvent& event) {
  const auto be = [&](bool fits, StepStatus to) {
    if (!fits) wrong(record, "it has no place now");
    step.status = to;
  };
  const auto& strategies = run.station().deep_work->strategies;
  if (const auto* started = std::get_if<StepAttemptStarted>(&event)) {
    read_start(record, run, step, *started);
  } else if (std::holds_alternative<StepHeartbeat>(event)) {
    if (step.token == 0 || record.cause != step.token) wrong(record, "another does the step");
  } else if (std::holds_alternative<StepCompleted>(event)) {
    end_attempt(record, step, StepStatus::completed);
  } else if (const auto* again = std::get_if<StepAttemptFailed>(&event)) {
    end_attempt(record, step, StepStatus::waiting);
    read_failure(record, run, step, again->failure.error_class, true);
    if (step.failures == retries_of(run) && again->next_strategy != strategies.back()) {
      wrong(record, "the last attempt takes the last strategy");
    }
    step.strategy = again->next_strategy;
  } else if (const auto* failed = std::get_if<StepFailed>(&event)) {
    end_attempt(record, step, StepStatus::failed);
    read_failure(record, run, step, failed->failure.error_class, false);
  } else if (std::holds_alternative<StepReady>(event)) {
    be(step.status == StepStatus::waiting, StepStatus::pending);
  } else if (std::holds_alternative<StepBlocked>(event)) {
    be(step.status == StepStatus::pending && needs_failed(*run.plan, step), StepStatus::blocked);
  } else if (std::holds_alternative<StepReopened>(event)) {
    be(step.status == StepStatus::failed || step.status == StepStatus::blocked,
       StepStatus::pending);
    step.failures = 0;
    step.strategy = strategies.front();
  }
}

void PlanAudit::finish_commit(Position position, const std::string& run_name, AuditedRun& run,
                              bool retried) {
  const std::string where =
      "position " + std::to_string(position) + ", the plan of run " + run_name + ": ";
  if (retried && run.failed_plan && run.failed_plan->status != PlanStatus::exploring) {
    for (const auto& [id, step] : run.failed_plan->steps) {
      environment_.expect(
          step.status != StepStatus::completed || (run.plan && is_completed(*run.plan, id)),
          where + "step " + id + " was completed before the retry");
    }
  }
  if (!run.plan || run.terminal) return;
  for (const auto& [id, step] : run.plan->steps) {
    environment_.expect(step.status != StepStatus::pending || !needs_failed(*run.plan, step),
                        where + "step " + id + " needs one that failed, and isn't blocked");
    environment_.expect(step.status != StepStatus::running || step.leased || run.holder != 0,
                        where + "step " + id + " goes on without its station's attempt");
  }
}

}  // namespace signalbox::simulation
