#include "server/rpc/plan_results.h"

#include <boost/describe/enum_to_string.hpp>

#include "domain/attempt_wait.h"
#include "domain/refusals.h"
#include "server/engine/engine.h"
#include "server/rpc/results.h"
#include "server/text/described_json.h"
#include "server/text/time_text.h"

namespace signalbox {
namespace {

namespace json = boost::json;

// Returns what carries out a phase: "command", "worker" or "default".
const char* doer_of(const PhaseDefinition& phase) {
  if (!phase.command.empty()) return "command";
  return phase.worker ? "worker" : "default";
}

// With `is_over`, of a plan whose station does nothing any more: a cancel ends no step by itself.
json::object step_view(const StepState& step, const DeepWorkDefinition& work, bool is_over) {
  if (is_over && step.status == StepStatus::running) {
    StepState ended = step;
    ended.status = StepStatus::pending;
    ended.token = 0;
    ended.error = "STATION_ATTEMPT_ENDED";
    return step_view(ended, work, is_over);
  }
  json::object object = to_json(step.definition).as_object();
  object["status"] = name_of(step.status);
  object["attempts"] = step.attempts;
  object["strategy"] = boost::describe::enum_to_string(work.strategies[step.strategy_index], "?");
  if (step.token != 0) object["token"] = to_json(step.token);
  if (!step.worker.empty()) object["worker"] = step.worker;
  if (step.status == StepStatus::waiting) {
    object["waiting_until"] = format_time(step.waiting_until_ns);
  }
  if (!step.summary.empty()) object["summary"] = step.summary;
  if (!step.error.empty()) object["error"] = step.error;
  if (!step.blocked_by.empty()) object["blocked_by"] = step.blocked_by;
  return object;
}

json::object lease_from(std::int64_t begun_ns, std::int64_t lease_ms) {
  json::object result{{"lease_ms", lease_ms}};
  if (lease_ms > 0) result["expires_at"] = lease_end_text(begun_ns, lease_ms);
  return result;
}

void add_standing(const Run& run, json::object& object) {
  object["plan_status"] = name_of(run.plan->status);
  object["todo_status"] = to_json(todo_status(*run.plan));
  object["settled"] = is_settled(*run.plan);
}

json::object heading(const Run& run) {
  json::object object;
  object["run_id"] = to_string(run.id);
  object["station"] = run.definition().name;
  object["token"] = run.attempt ? to_json(run.attempt->token) : json::value(nullptr);
  object["waiting_for"] = text_or_null(phase_for_workers(run));
  return object;
}

void add_step(const Run& run, const StepState& step, json::object& object) {
  object["description"] = step.definition.description;
  object["type"] = boost::describe::enum_to_string(step.definition.type, "?");
  object["effort"] = boost::describe::enum_to_string(step.definition.effort, "?");
  object["dependencies"] = to_json(step.definition.dependencies);
  object["timeout_ms"] = run.definition().deep_work->step_timeout_ms;
  object["goal"] = run.goal;
  object["exploration"] = to_json(run.plan->exploration);
  object["previous_error"] = text_or_null(step.error);
}

// Adds what the worker got when the attempt began. A repeated answer has the same content, whatever
// has become of the attempt.
void add_step_assignment(const Api& api, const Record& record, const StepAttemptStarted& started,
                         json::object& object) {
  const auto step_of = [&](const Run* run) -> const StepState* {
    const StepState* const step =
        run != nullptr && run->plan ? run->plan->find(started.step) : nullptr;
    return step != nullptr && step->token == record.position ? step : nullptr;
  };
  const Run* const run = api.engine.world().find_run(record.stream.run_id);
  // These fields don't change while the attempt is under way.
  if (const StepState* const step = step_of(run)) return add_step(*run, *step, object);
  const auto then = run_at_position(api, record.stream.run_id, record.position);
  if (const StepState* const step = step_of(then.get())) add_step(*then, *step, object);
}

}  // namespace

json::object exploration_result(const Api&, std::span<const Record> records) {
  json::object result;
  result["timed_out"] = false;
  for (const Record& record : records) {
    if (event_as<ExplorationTimedOut>(record.event) != nullptr) result["timed_out"] = true;
    if (const auto* finished = event_as<ExplorationFinished>(record.event)) {
      result["files"] = finished->exploration.files.size();
      result["files_cut"] = finished->files_cut;
      result["findings"] = finished->exploration.findings.size();
      result["findings_cut"] = finished->findings_cut;
    }
  }
  return result;
}

json::object plan_result(const Api&, std::span<const Record> records) {
  json::object result;
  for (const Record& record : records) {
    const auto* set = event_as<PlanSet>(record.event);
    if (set == nullptr) continue;
    json::array ids;
    for (const StepDefinition& step : set->steps) ids.emplace_back(step.id);
    result["steps"] = set->steps.size();
    result["step_ids"] = std::move(ids);
    result["cut"] = set->cut;
  }
  return result;
}

json::object reset_result(const Api&, std::span<const Record> records) {
  json::object result;
  result["reset"] = !records.empty();
  return result;
}

json::object next_step_result(const Api& api, std::span<const Record> records) {
  json::object result;
  result["step"] = nullptr;
  for (const Record& record : records) {
    const auto* started = event_as<StepAttemptStarted>(record.event);
    if (started == nullptr) continue;
    json::object step;
    step["run_id"] = to_string(record.stream.run_id);
    step["station"] = started->station;
    step["step"] = started->step;
    step["attempt"] = started->attempt;
    step["strategy"] = boost::describe::enum_to_string(started->strategy, "?");
    step["token"] = to_json(record.position);
    step["lease_ms"] = started->lease_ms;
    if (started->lease_ms > 0) {
      step["expires_at"] = lease_end_text(record.recorded_at_ns, started->lease_ms);
    }
    add_step_assignment(api, record, *started, step);
    result["step"] = std::move(step);
  }
  return result;
}

json::object step_heartbeat_result(const Api&, std::span<const Record> records) {
  for (const Record& record : records) {
    const auto* beat = event_as<StepHeartbeat>(record.event);
    if (beat != nullptr) return lease_from(record.recorded_at_ns, beat->lease_ms);
  }
  return {};
}

json::object step_renewal_result(const Api& api, std::int64_t lease_ms) {
  return lease_from(api.clock.wall_ns(), lease_ms);
}

json::object step_end_result(const Api&, std::span<const Record> records) {
  json::object result;
  json::array blocked;
  for (const Record& record : records) {
    const Event& event = record.event;
    if (const auto* completed = event_as<StepCompleted>(event)) {
      result["step"] = completed->step;
      result["step_status"] = name_of(StepStatus::completed);
    } else if (const auto* retried = event_as<StepAttemptFailed>(event)) {
      result["step"] = retried->step;
      result["step_status"] = name_of(StepStatus::waiting);
      result["retry_at"] = format_time(retried->retry_at_ns);
      result["next_strategy"] = boost::describe::enum_to_string(retried->next_strategy, "?");
    } else if (event_as<StepReady>(event) != nullptr) {
      result["step_status"] = name_of(StepStatus::pending);
    } else if (const auto* failed = event_as<StepFailed>(event)) {
      result["step"] = failed->step;
      result["step_status"] = name_of(StepStatus::failed);
      result["code"] = failed->code;
    } else if (const auto* by_it = event_as<StepBlocked>(event)) {
      blocked.emplace_back(by_it->step);
    }
  }
  if (!blocked.empty()) result["blocked"] = std::move(blocked);
  return result;
}

json::object no_step_result(const Api& api, const NextStep& command) {
  json::object result;
  result["step"] = nullptr;
  const Run* const run = command.run_id ? api.engine.world().find_run(*command.run_id) : nullptr;
  if (run != nullptr && run->plan) add_standing(*run, result);
  return result;
}

bool no_step_can_come(const World& world, const NextStep& command) {
  if (!command.token || !command.run_id) return false;
  const Run* const run = world.find_run(*command.run_id);
  return run == nullptr || !run->plan || run->plan->status != PlanStatus::set ||
         is_settled(*run->plan);
}

json::object plan_view(const Run& run) {
  const DeepWorkDefinition& work = *run.definition().deep_work;
  json::object view = heading(run);
  view["station_status"] = name_of(run.station().status);
  view["goal"] = run.goal;
  view["done_by"] = {{"explore", doer_of(work.explore)},
                     {"plan", doer_of(work.plan)},
                     {"step", steps_are_for_workers(work) ? "worker" : "command"}};
  add_standing(run, view);
  view["exploration"] = run.plan->status == PlanStatus::exploring ? json::value(nullptr)
                                                                  : to_json(run.plan->exploration);
  view["cut"] = run.plan->cut;
  json::array steps;
  const bool is_over = run.station().status == StationStatus::canceled;
  for (const StepState& step : run.plan->steps) steps.push_back(step_view(step, work, is_over));
  view["steps"] = std::move(steps);
  return view;
}

json::object plan_list_view(const World& world, const PlanFilter& filter) {
  json::array plans;
  json::value next_cursor;
  auto each = filter.after ? world.planned.upper_bound(*filter.after) : world.planned.begin();
  for (; each != world.planned.end(); ++each) {
    const Run& run = *world.find_run(*each);
    if (!filter.phase.empty() && phase_for_workers(run) != filter.phase) continue;
    if (plans.size() == filter.limit) {
      next_cursor = plans.back().at("run_id");
      break;
    }
    json::object plan = heading(run);
    plan["goal"] = run.goal;
    add_standing(run, plan);
    plans.push_back(std::move(plan));
  }
  return {{"plans", std::move(plans)}, {"next_cursor", std::move(next_cursor)}};
}

}  // namespace signalbox
