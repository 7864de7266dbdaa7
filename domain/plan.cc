#include "domain/plan.h"

#include <algorithm>
#include <map>
#include <set>

#include "domain/limits.h"
#include "domain/try.h"

namespace signalbox {
namespace {

using Steps = std::vector<StepDefinition>;

tl::unexpected<Rejection> plan_invalid(const std::string& why, const char* problem,
                                       const std::vector<std::string>& ids) {
  std::string message = why;
  for (const std::string& id : ids) message += (&id == &ids.front() ? ": " : ", ") + id;
  return reject(ErrorCode::PLAN_INVALID, std::move(message),
                {{"problem", std::string(problem)}, {"step_ids", ids}});
}

bool is_step_id(const std::string& id) {
  if (id.empty() || id.size() > limits::step_id_bytes_max || id.front() == '.') return false;
  return std::all_of(id.begin(), id.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  });
}

// Returns the id cut to its longest length, or a placeholder if it isn't printable.
std::string printable_id(const std::string& id) {
  const bool plain = std::all_of(id.begin(), id.end(), [](char c) {
    return static_cast<unsigned char>(c) > 0x20 && static_cast<unsigned char>(c) < 0x7F;
  });
  return plain && !id.empty() ? id.substr(0, limits::step_id_bytes_max) : "(unreadable)";
}

Decided<void> check_ids(const Steps& steps, const std::vector<std::string>& done) {
  std::set<std::string> seen(done.begin(), done.end());
  std::vector<std::string> bad;
  std::vector<std::string> twice;
  for (const StepDefinition& step : steps) {
    if (!is_step_id(step.id)) {
      bad.push_back(printable_id(step.id));
    } else if (!seen.insert(step.id).second) {
      twice.push_back(step.id);
    }
  }
  if (bad.size() > limits::plan_steps_max) bad.resize(limits::plan_steps_max);
  if (twice.size() > limits::plan_steps_max) twice.resize(limits::plan_steps_max);
  if (!bad.empty()) {
    return plan_invalid("a step's id has 1 to 64 letters, digits, '_', '-' and '.', not '.' first",
                        "bad_id", bad);
  }
  if (!twice.empty()) return plan_invalid("these ids are there twice", "duplicate_id", twice);
  return {};
}

Decided<void> check_dependencies(const Steps& steps, const std::vector<std::string>& done) {
  std::set<std::string> known(done.begin(), done.end());
  for (const StepDefinition& step : steps) known.insert(step.id);
  std::set<std::string> unknown;
  for (const StepDefinition& step : steps) {
    for (const std::string& id : step.dependencies) {
      if (!known.contains(id)) unknown.insert(printable_id(id));
      if (unknown.size() == limits::plan_steps_max) break;
    }
  }
  if (unknown.empty()) return {};
  return plan_invalid("steps depend on what isn't in the plan", "unknown_dependency",
                      {unknown.begin(), unknown.end()});
}

// Returns the indexes of the steps in a topological order that prefers lower indexes (Kahn's
// algorithm). Steps on a cycle, and those that depend on one, are missing from it.
std::vector<std::size_t> topological_order(const Steps& steps) {
  std::map<std::string, std::size_t> index_of;
  for (std::size_t index = 0; index < steps.size(); ++index) index_of[steps[index].id] = index;
  std::vector<std::size_t> missing(steps.size(), 0);
  std::vector<std::vector<std::size_t>> dependents(steps.size());
  for (std::size_t index = 0; index < steps.size(); ++index) {
    const std::set<std::string> distinct(steps[index].dependencies.begin(),
                                         steps[index].dependencies.end());
    for (const std::string& id : distinct) {
      const auto place = index_of.find(id);
      if (place == index_of.end()) continue;  // completed under an earlier plan
      ++missing[index];
      dependents[place->second].push_back(index);
    }
  }
  std::set<std::size_t> ready;
  for (std::size_t index = 0; index < steps.size(); ++index) {
    if (missing[index] == 0) ready.insert(index);
  }
  std::vector<std::size_t> order;
  while (!ready.empty()) {
    const std::size_t next = *ready.begin();
    ready.erase(ready.begin());
    order.push_back(next);
    for (const std::size_t dependent : dependents[next]) {
      if (--missing[dependent] == 0) ready.insert(dependent);
    }
  }
  return order;
}

// Returns the ids of one cycle among the steps that `order` lacks, beginning anywhere on it.
std::vector<std::string> cycle_among(const Steps& steps, const std::vector<std::size_t>& order) {
  std::set<std::size_t> ordered(order.begin(), order.end());
  std::map<std::string, const StepDefinition*> stuck;
  for (std::size_t index = 0; index < steps.size(); ++index) {
    if (!ordered.contains(index)) stuck[steps[index].id] = &steps[index];
  }
  // Each stuck step depends on another stuck step, so following these dependencies reaches a cycle.
  std::vector<std::string> path;
  const StepDefinition* at = stuck.begin()->second;
  while (std::find(path.begin(), path.end(), at->id) == path.end()) {
    path.push_back(at->id);
    const auto next = std::find_if(at->dependencies.begin(), at->dependencies.end(),
                                   [&stuck](const std::string& id) { return stuck.contains(id); });
    at = stuck.at(*next);
  }
  path.erase(path.begin(), std::find(path.begin(), path.end(), at->id));
  return path;
}

std::size_t text_bytes(const Steps& steps) {
  std::size_t bytes = 0;
  for (const StepDefinition& step : steps) {
    bytes += step.id.size() + step.description.size() + 16;
    for (const std::string& id : step.dependencies) bytes += id.size() + 4;
  }
  return bytes;
}

}  // namespace

const StepState* Plan::find(std::string_view step) const {
  const auto place = std::find_if(steps.begin(), steps.end(), [step](const StepState& each) {
    return each.definition.id == step;
  });
  return place == steps.end() ? nullptr : &*place;
}

StepState* Plan::find(std::string_view step) {
  return const_cast<StepState*>(static_cast<const Plan*>(this)->find(step));
}

TodoStatus todo_status(const Plan& plan) {
  TodoStatus todo;
  for (const StepState& step : plan.steps) {
    ++todo.total_steps;
    if (step.status == StepStatus::completed) {
      ++todo.completed_steps;
      continue;
    }
    ++(step.status == StepStatus::failed ? todo.failed_steps : todo.remaining_steps);
    todo.incomplete_step_ids.push_back(step.definition.id);
  }
  todo.all_complete = plan.status == PlanStatus::set && todo.total_steps > 0 &&
                      todo.completed_steps == todo.total_steps;
  return todo;
}

bool is_settled(const Plan& plan) {
  return plan.status == PlanStatus::set &&
         std::all_of(plan.steps.begin(), plan.steps.end(), [](const StepState& step) {
           return step.status == StepStatus::completed || step.status == StepStatus::failed ||
                  step.status == StepStatus::blocked;
         });
}

const StepState* available_step(const Plan& plan) {
  if (plan.status != PlanStatus::set) return nullptr;
  for (const StepState& step : plan.steps) {
    if (step.status != StepStatus::pending) continue;
    const auto& needed = step.definition.dependencies;
    const bool all_done = std::all_of(needed.begin(), needed.end(), [&plan](const auto& id) {
      const StepState* const each = plan.find(id);
      return each != nullptr && each->status == StepStatus::completed;
    });
    if (all_done) return &step;
  }
  return nullptr;
}

bool steps_are_for_workers(const DeepWorkDefinition& work) { return work.step.command.empty(); }

Decided<void> validate(const std::vector<StepDefinition>& steps,
                       const std::vector<std::string>& done) {
  if (steps.empty()) return plan_invalid("a plan has at least one step", "empty", {});
  TRY(check_ids(steps, done));
  TRY(check_dependencies(steps, done));
  const auto order = topological_order(steps);
  if (order.size() == steps.size()) return {};
  return plan_invalid("these steps depend on each other", "cycle", cycle_among(steps, order));
}

std::vector<StepDefinition> first_steps(const std::vector<StepDefinition>& steps,
                                        std::size_t steps_max) {
  std::vector<std::size_t> order = topological_order(steps);
  order.resize(std::min(order.size(), steps_max));
  std::sort(order.begin(), order.end());
  std::vector<StepDefinition> first;
  for (const std::size_t index : order) first.push_back(steps[index]);
  return first;
}

bool fits_into_record(const std::vector<StepDefinition>& steps) {
  return text_bytes(steps) <= limits::plan_bytes_max;
}

}  // namespace signalbox
