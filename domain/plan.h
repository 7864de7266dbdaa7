// The state of the deep work of a run's current station: the plan and its steps, with their
// transition tables. It outlasts the station's attempts: a completed step stays completed.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>

#include "domain/error.h"
#include "domain/event_parts.h"
#include "domain/plan_events.h"
#include "domain/transition.h"

namespace signalbox {

enum class PlanStatus : std::uint8_t {
  exploring = 1,  // the repository is being explored
  planning = 2,   // no steps yet, or only completed ones after a reset
  set = 3         // the steps can be done
};
BOOST_DESCRIBE_ENUM(PlanStatus, exploring, planning, set)

enum class StepStatus : std::uint8_t {
  pending = 1,  // waits for its dependencies and a worker
  running = 2,
  waiting = 3,  // waits for its next attempt
  completed = 4,
  failed = 5,
  blocked = 6  // a step that it depends on failed
};
BOOST_DESCRIBE_ENUM(StepStatus, pending, running, waiting, completed, failed, blocked)

using PlanTransition = Transition<PlanStatus>;

// The transition tables, drawn in README.md. evolve() aborts on a pair that isn't in its table.
inline constexpr std::array plan_transitions = {
    PlanTransition{PlanStatus::exploring, ExplorationTimedOut::tag, PlanStatus::exploring},
    PlanTransition{PlanStatus::exploring, ExplorationFinished::tag, PlanStatus::planning},
    PlanTransition{PlanStatus::planning, PlanSet::tag, PlanStatus::set},
    PlanTransition{PlanStatus::planning, PlanRestored::tag, PlanStatus::set},
    PlanTransition{PlanStatus::set, PlanReset::tag, PlanStatus::planning},
};

using StepTransition = Transition<StepStatus>;

inline constexpr std::array step_transitions = {
    StepTransition{StepStatus::pending, StepAttemptStarted::tag, StepStatus::running},
    StepTransition{StepStatus::pending, StepBlocked::tag, StepStatus::blocked},
    StepTransition{StepStatus::running, StepHeartbeat::tag, StepStatus::running},
    StepTransition{StepStatus::running, StepCompleted::tag, StepStatus::completed},
    StepTransition{StepStatus::running, StepAttemptFailed::tag, StepStatus::waiting},
    StepTransition{StepStatus::running, StepFailed::tag, StepStatus::failed},
    StepTransition{StepStatus::waiting, StepReady::tag, StepStatus::pending},
    StepTransition{StepStatus::failed, StepReopened::tag, StepStatus::pending},
    StepTransition{StepStatus::blocked, StepReopened::tag, StepStatus::pending},
};

// Return the status after the event of this number, or nullopt if the table has no such pair.
constexpr std::optional<PlanStatus> next_status(PlanStatus from, std::uint16_t event_number) {
  return next_in(plan_transitions, from, event_number);
}

constexpr std::optional<StepStatus> next_status(StepStatus from, std::uint16_t event_number) {
  return next_in(step_transitions, from, event_number);
}

struct StepState {
  StepDefinition definition;
  StepStatus status = StepStatus::pending;
  std::uint8_t strategy_index = 0;  // of the latest or next attempt, in the station's strategies
  std::uint32_t attempts = 0;       // attempts started so far
  std::uint32_t failures = 0;       // failed attempts since it was last reopened
  Token token = 0;                  // of the attempt under way, or 0
  std::string worker;               // of the latest attempt
  std::int64_t lease_ms = 0;        // 0: lasts as long as the station's attempt
  Position lease_renewed_at = 0;
  std::int64_t waiting_until_ns = 0;  // UTC; meaningful while waiting
  std::string summary;                // while completed
  std::string error;                  // "CODE: message" of the latest failure
  std::string blocked_by;             // while blocked: id of the step that failed

  friend bool operator==(const StepState&, const StepState&) = default;
};
BOOST_DESCRIBE_STRUCT(StepState, (),
                      (definition, status, strategy_index, attempts, failures, token, worker,
                       lease_ms, lease_renewed_at, waiting_until_ns, summary, error, blocked_by))

struct Plan {
  PlanStatus status = PlanStatus::exploring;
  Exploration exploration;
  std::uint32_t cut = 0;  // number of steps that were left out of the latest plan
  std::vector<StepState> steps;

  // Return the step with this id, or nullptr.
  [[nodiscard]] const StepState* find(std::string_view step) const;
  [[nodiscard]] StepState* find(std::string_view step);

  friend bool operator==(const Plan&, const Plan&) = default;
};
BOOST_DESCRIBE_STRUCT(Plan, (), (status, exploration, cut, steps))

struct TodoStatus {
  std::uint32_t total_steps = 0;
  std::uint32_t completed_steps = 0;
  std::uint32_t failed_steps = 0;
  std::uint32_t remaining_steps = 0;  // neither completed nor failed
  bool all_complete = false;          // false for a plan without steps
  std::vector<std::string> incomplete_step_ids;
};
BOOST_DESCRIBE_STRUCT(TodoStatus, (),
                      (total_steps, completed_steps, failed_steps, remaining_steps, all_complete,
                       incomplete_step_ids))

// Counts the plan's steps by status.
TodoStatus todo_status(const Plan& plan);

// Returns whether the plan is set and no step can go on: each is completed, failed or blocked.
bool is_settled(const Plan& plan);

// Returns the first step, in the order of the plan, that is pending and whose dependencies are all
// completed. Returns nullptr if there is none.
const StepState* available_step(const Plan& plan);

// Returns whether outside workers do the steps: the station has no command for them.
bool steps_are_for_workers(const DeepWorkDefinition& work);

// Checks the steps of a new plan. PLAN_INVALID with the ids at fault: no step at all, a malformed
// or duplicate id, an unknown dependency, a cycle. `done` are the ids of steps completed under an
// earlier plan: a new step may depend on them, and can't have their id.
Decided<void> validate(const std::vector<StepDefinition>& steps,
                       const std::vector<std::string>& done);

// Returns at most `steps_max` of the (valid) steps, in their order, so that none depends on one
// that was left out: the first ones of a topological order.
std::vector<StepDefinition> first_steps(const std::vector<StepDefinition>& steps,
                                        std::size_t steps_max);

// Returns whether the text of the steps takes at most limits::plan_bytes_max.
bool fits_into_record(const std::vector<StepDefinition>& steps);

}  // namespace signalbox
