// Decisions about the plan of a deep_work station: exploration, plan, reset. The plan's steps are
// decided in decide_step.cc.
#include <algorithm>
#include <iterator>

#include "domain/decide.h"
#include "domain/limits.h"
#include "domain/refusals.h"
#include "domain/try.h"

namespace signalbox {
namespace {

tl::unexpected<Rejection> out_of_order(const Run& run, const char* subject) {
  return reject(
      ErrorCode::PLAN_ORDER,
      std::string(subject) + " has no place while the plan is " + name_of(run.plan->status),
      {{"run_id", to_string(run.id)},
       {"station", run.definition().name},
       {"plan_status", std::string(name_of(run.plan->status))}},
      {"signalbox plan get " + to_string(run.id)});
}

NewEvent event_of(const Run& run, PlanEvent event) {
  return {Stream::run(run.id), run.attempt ? run.attempt->span_id : Uuid{},
          run.attempt ? run.attempt->token : 0, std::move(event)};
}

// Appends to `out` the longest prefix of `from` that fits into `bytes_left`, at most `count_max`
// texts, and reduces `bytes_left`. Returns how many were left out.
std::uint32_t append_fitting(const std::vector<std::string>& from, std::size_t count_max,
                             std::size_t& bytes_left, std::vector<std::string>& out) {
  for (const std::string& text : from) {
    if (out.size() == count_max || text.size() + 8 > bytes_left) break;
    bytes_left -= text.size() + 8;
    out.push_back(text);
  }
  return static_cast<std::uint32_t>(from.size() - out.size());
}

std::vector<std::string> completed_ids(const Plan& plan) {
  std::vector<std::string> ids;
  for (const StepState& step : plan.steps) {
    if (step.status == StepStatus::completed) ids.push_back(step.definition.id);
  }
  return ids;
}

std::vector<StepDefinition> definitions_of(const std::vector<ProposedStep>& proposed) {
  std::vector<StepDefinition> steps;
  for (const ProposedStep& each : proposed) {
    steps.push_back({each.id, each.description.value_or(""),
                     each.type.value_or(StepType::implement), each.dependencies,
                     each.effort.value_or(StepEffort::medium)});
  }
  return steps;
}

}  // namespace

Decided<NewEvents> decide(const World& world, const SetExploration& command, const Now& now) {
  TRY(require_at_most("summary", command.summary.value_or(""), limits::summary_bytes_max));
  const auto held =
      TRY(planned_station(world, command.run_id, command.station, command.token, now.by));
  const Run& run = *held;
  if (run.plan->status != PlanStatus::exploring) return out_of_order(run, "an exploration");
  const DeepWorkDefinition& work = *run.definition().deep_work;
  NewEvents events;
  if (command.timed_out.value_or(false)) {
    events.push_back(
        event_of(run, ExplorationTimedOut{run.definition().name, work.explore_timeout_ms}));
  }
  static_assert(limits::goal_bytes_max <= limits::summary_bytes_max, "a goal is a summary");
  ExplorationFinished finished;
  finished.station = run.definition().name;
  finished.exploration.summary = command.summary.value_or(run.goal);
  std::size_t bytes_left = limits::exploration_bytes_max;
  finished.files_cut =
      append_fitting(command.files, work.max_files, bytes_left, finished.exploration.files);
  finished.findings_cut = append_fitting(command.findings, limits::explored_files_max, bytes_left,
                                         finished.exploration.findings);
  events.push_back(event_of(run, std::move(finished)));
  return events;
}

Decided<NewEvents> decide(const World& world, const SetPlan& command, const Now& now) {
  const auto held =
      TRY(planned_station(world, command.run_id, command.station, command.token, now.by));
  const Run& run = *held;
  if (run.plan->status != PlanStatus::planning) return out_of_order(run, "a plan");
  TRY(require_room(run));
  const std::vector<StepDefinition> steps = definitions_of(command.steps);
  const std::vector<std::string> done = completed_ids(*run.plan);
  if (auto ok = validate(steps, done); !ok) {
    Rejection invalid = ok.error();
    invalid.next_commands = {"signalbox plan get " + to_string(run.id)};
    return tl::unexpected(std::move(invalid));
  }
  const std::size_t steps_max =
      std::min<std::size_t>(run.definition().deep_work->max_steps,
                            limits::plan_steps_max - std::min(done.size(), limits::plan_steps_max));
  if (steps_max == 0) {
    return reject(ErrorCode::LIMIT_EXCEEDED, "the steps that are completed leave no room",
                  {{"completed_steps", static_cast<std::int64_t>(done.size())},
                   {"plan_steps_max", static_cast<std::int64_t>(limits::plan_steps_max)}},
                  {"signalbox server limits"});
  }
  PlanSet plan{run.definition().name, first_steps(steps, steps_max), 0};
  plan.cut = static_cast<std::uint32_t>(steps.size() - plan.steps.size());
  if (!fits_into_record(plan.steps)) {
    return reject(ErrorCode::LIMIT_EXCEEDED, "the plan's text is too long",
                  {{"plan_bytes_max", static_cast<std::int64_t>(limits::plan_bytes_max)}},
                  {"signalbox server limits"});
  }
  return NewEvents{event_of(run, std::move(plan))};
}

Decided<NewEvents> decide(const World& world, const ResetPlan& command, const Now& now) {
  const std::string reason = command.reason.value_or("");
  TRY(require_at_most("reason", reason, limits::reason_bytes_max));
  const auto planned =
      TRY(command.token ? planned_station(world, command.run_id, {}, *command.token, now.by)
                        : planned_run(world, command.run_id));
  const Run& run = *planned;
  if (run.plan->status == PlanStatus::planning) return NewEvents{};
  if (run.plan->status != PlanStatus::set) return out_of_order(run, "a reset");
  return NewEvents{event_of(run, PlanReset{run.definition().name, reason})};
}

}  // namespace signalbox
