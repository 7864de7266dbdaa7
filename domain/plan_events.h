// Events of the deep work of a run's station: exploration, plan, and the plan's steps. They lie in
// the run's stream.
//
// To add one: as station_events.h says; the tables are in plan.h.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>

#include "domain/event_parts.h"
#include "domain/station_events.h"

namespace signalbox {

// Stored as numbers: append only.
enum class StepType : std::uint8_t {
  explore = 1,
  implement = 2,
  test = 3,
  review = 4,
  refactor = 5
};
BOOST_DESCRIBE_ENUM(StepType, explore, implement, test, review, refactor)

enum class StepEffort : std::uint8_t { small = 1, medium = 2, large = 3 };
BOOST_DESCRIBE_ENUM(StepEffort, small, medium, large)

struct StepDefinition {
  KeptText id;
  FreeText description;
  StepType type = StepType::implement;
  KeptTexts dependencies;  // ids of steps that must be completed first
  StepEffort effort = StepEffort::medium;

  friend bool operator==(const StepDefinition&, const StepDefinition&) = default;
};
BOOST_DESCRIBE_STRUCT(StepDefinition, (), (id, description, type, dependencies, effort))

// The result of the exploration that precedes the plan.
struct Exploration {
  FreeText summary;
  FreeTexts files;
  FreeTexts findings;

  friend bool operator==(const Exploration&, const Exploration&) = default;
};
BOOST_DESCRIBE_STRUCT(Exploration, (), (summary, files, findings))

struct ExplorationFinished {
  static constexpr EventTag tag{601, 1, "ExplorationFinished"};
  KeptText station;
  Exploration exploration;
  std::uint32_t files_cut = 0;  // number left out: beyond the station's limit or a record's
  std::uint32_t findings_cut = 0;

  friend bool operator==(const ExplorationFinished&, const ExplorationFinished&) = default;
};
BOOST_DESCRIBE_STRUCT(ExplorationFinished, (), (station, exploration, files_cut, findings_cut))

// The exploration ran into its timeout. The work continues with the ExplorationFinished that
// follows.
struct ExplorationTimedOut {
  static constexpr EventTag tag{602, 1, "ExplorationTimedOut"};
  KeptText station;
  std::int64_t timeout_ms = 0;

  friend bool operator==(const ExplorationTimedOut&, const ExplorationTimedOut&) = default;
};
BOOST_DESCRIBE_STRUCT(ExplorationTimedOut, (), (station, timeout_ms))

// A plan was set. Its steps are added to those that were completed under an earlier plan.
struct PlanSet {
  static constexpr EventTag tag{603, 1, "PlanSet"};
  KeptText station;
  std::vector<StepDefinition> steps;
  std::uint32_t cut = 0;  // number of steps beyond max_steps, which were left out

  friend bool operator==(const PlanSet&, const PlanSet&) = default;
};
BOOST_DESCRIBE_STRUCT(PlanSet, (), (station, steps, cut))

// All steps but the completed ones were dropped; a new plan is needed.
struct PlanReset {
  static constexpr EventTag tag{604, 1, "PlanReset"};
  KeptText station;
  FreeText reason;

  friend bool operator==(const PlanReset&, const PlanReset&) = default;
};
BOOST_DESCRIBE_STRUCT(PlanReset, (), (station, reason))

// An attempt at a step starts. The position of this event is its token.
struct StepAttemptStarted {
  static constexpr EventTag tag{605, 1, "StepAttemptStarted"};
  KeptText station;
  KeptText step;
  std::uint32_t attempt = 1;
  Strategy strategy = Strategy::original;
  KeptText worker;
  std::int64_t lease_ms = 0;  // 0: lasts as long as the station's attempt

  friend bool operator==(const StepAttemptStarted&, const StepAttemptStarted&) = default;
};
BOOST_DESCRIBE_STRUCT(StepAttemptStarted, (), (station, step, attempt, strategy, worker, lease_ms))

struct StepHeartbeat {
  static constexpr EventTag tag{606, 1, "StepHeartbeat"};
  KeptText step;
  std::int64_t lease_ms = 0;

  friend bool operator==(const StepHeartbeat&, const StepHeartbeat&) = default;
};
BOOST_DESCRIBE_STRUCT(StepHeartbeat, (), (step, lease_ms))

struct StepCompleted {
  static constexpr EventTag tag{607, 1, "StepCompleted"};
  KeptText step;
  std::uint32_t attempt = 1;
  FreeText summary;

  friend bool operator==(const StepCompleted&, const StepCompleted&) = default;
};
BOOST_DESCRIBE_STRUCT(StepCompleted, (), (step, attempt, summary))

// The attempt failed and another one will follow at retry_at_ns.
struct StepAttemptFailed {
  static constexpr EventTag tag{608, 1, "StepAttemptFailed"};
  KeptText step;
  std::uint32_t attempt = 1;
  Failure failure;
  std::int64_t retry_at_ns = 0;  // UTC
  Strategy next_strategy = Strategy::original;

  friend bool operator==(const StepAttemptFailed&, const StepAttemptFailed&) = default;
};
BOOST_DESCRIBE_STRUCT(StepAttemptFailed, (), (step, attempt, failure, retry_at_ns, next_strategy))

// The delay before the step's next attempt is over.
struct StepReady {
  static constexpr EventTag tag{609, 1, "StepReady"};
  KeptText step;

  friend bool operator==(const StepReady&, const StepReady&) = default;
};
BOOST_DESCRIBE_STRUCT(StepReady, (), (step))

// The attempt failed and no other one follows.
struct StepFailed {
  static constexpr EventTag tag{610, 1, "StepFailed"};
  KeptText step;
  std::uint32_t attempt = 1;
  KeptText code;    // RETRY_EXHAUSTED, or the failure's own code if it allows no retry
  Failure failure;  // of the last attempt

  friend bool operator==(const StepFailed&, const StepFailed&) = default;
};
BOOST_DESCRIBE_STRUCT(StepFailed, (), (step, attempt, code, failure))

struct StepBlocked {
  static constexpr EventTag tag{611, 1, "StepBlocked"};
  KeptText step;
  KeptText by;  // id of the failed step, on which it depends directly or transitively

  friend bool operator==(const StepBlocked&, const StepBlocked&) = default;
};
BOOST_DESCRIBE_STRUCT(StepBlocked, (), (step, by))

// A failed or blocked step is pending again: a new attempt of the station found nothing else to do.
struct StepReopened {
  static constexpr EventTag tag{612, 1, "StepReopened"};
  KeptText step;

  friend bool operator==(const StepReopened&, const StepReopened&) = default;
};
BOOST_DESCRIBE_STRUCT(StepReopened, (), (step))

struct RestoredStep {
  StepDefinition definition;
  std::uint32_t attempts = 0;  // before the retry
  bool completed = false;

  friend bool operator==(const RestoredStep&, const RestoredStep&) = default;
};
BOOST_DESCRIBE_STRUCT(RestoredStep, (), (definition, attempts, completed))

// The failed run of this plan was retried (RunRetried): completed steps stay completed, the others
// begin again.
struct PlanRestored {
  static constexpr EventTag tag{613, 1, "PlanRestored"};
  KeptText station;
  std::vector<RestoredStep> steps;
  std::uint32_t cut = 0;  // as in PlanSet

  friend bool operator==(const PlanRestored&, const PlanRestored&) = default;
};
BOOST_DESCRIBE_STRUCT(PlanRestored, (), (station, steps, cut))

using PlanEvents = std::variant<ExplorationFinished, ExplorationTimedOut, PlanSet, PlanReset,
                                StepAttemptStarted, StepHeartbeat, StepCompleted, StepAttemptFailed,
                                StepReady, StepFailed, StepBlocked, StepReopened, PlanRestored>;
using PlanEvent = OneOf<PlanEvents>;

}  // namespace signalbox
