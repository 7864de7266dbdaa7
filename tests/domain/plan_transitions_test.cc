// The transition tables of plans and steps, written a second time, and that evolve() aborts on
// every other pair.
#include <array>
#include <map>

#include "tests/domain/plan_fixture.h"

namespace signalbox {
namespace {

constexpr std::array step_statuses = {StepStatus::pending, StepStatus::running,
                                      StepStatus::waiting, StepStatus::completed,
                                      StepStatus::failed,  StepStatus::blocked};
constexpr std::array plan_statuses = {PlanStatus::exploring, PlanStatus::planning, PlanStatus::set};

std::vector<Event> plan_events() {
  const Failure failure{Outcome::failed, ErrorClass::terminal, "X", ""};
  return {explored(),
          PlanEvent{ExplorationTimedOut{"implement", 1}},
          planned({step("z")}),
          PlanEvent{PlanReset{"implement", ""}},
          PlanEvent{PlanRestored{"implement", {}, 0}},
          step_started("a", 9),
          PlanEvent{StepHeartbeat{"a", 1}},
          step_completed("a"),
          PlanEvent{StepAttemptFailed{"a", 1, failure, 1, Strategy::original}},
          PlanEvent{StepReady{"a"}},
          PlanEvent{StepFailed{"a", 1, "X", failure}},
          PlanEvent{StepBlocked{"a", "b"}},
          PlanEvent{StepReopened{"a"}}};
}
static_assert(std::variant_size_v<PlanEvents> == 13, "plan_events() has one of each");

// The expected table is written a second time on purpose: a change of a table changes the contract.
TEST(PlanTransitions, TheTablesSayWhatIsMeant) {
  using enum StepStatus;
  const std::map<std::pair<StepStatus, std::string>, StepStatus> meant = {
      {{pending, "StepAttemptStarted"}, running}, {{pending, "StepBlocked"}, blocked},
      {{running, "StepHeartbeat"}, running},      {{running, "StepCompleted"}, completed},
      {{running, "StepAttemptFailed"}, waiting},  {{running, "StepFailed"}, failed},
      {{waiting, "StepReady"}, pending},          {{failed, "StepReopened"}, pending},
      {{blocked, "StepReopened"}, pending}};
  const std::map<std::pair<PlanStatus, std::string>, PlanStatus> plans = {
      {{PlanStatus::exploring, "ExplorationTimedOut"}, PlanStatus::exploring},
      {{PlanStatus::exploring, "ExplorationFinished"}, PlanStatus::planning},
      {{PlanStatus::planning, "PlanSet"}, PlanStatus::set},
      {{PlanStatus::planning, "PlanRestored"}, PlanStatus::set},
      {{PlanStatus::set, "PlanReset"}, PlanStatus::planning}};
  for (const Event& event : plan_events()) {
    const EventTag tag = tag_of(event);
    for (const StepStatus from : step_statuses) {
      const auto row = meant.find({from, std::string(tag.name)});
      EXPECT_EQ(next_status(from, tag.number),
                row == meant.end() ? std::nullopt : std::optional(row->second))
          << shown(from) << " " << tag.name;
    }
    for (const PlanStatus from : plan_statuses) {
      const auto row = plans.find({from, std::string(tag.name)});
      EXPECT_EQ(next_status(from, tag.number),
                row == plans.end() ? std::nullopt : std::optional(row->second))
          << shown(from) << " " << tag.name;
    }
  }
  EXPECT_EQ(meant.size(), step_transitions.size());
  EXPECT_EQ(plans.size(), plan_transitions.size());
}

using PlanAborts = PlanTest;

TEST_F(PlanAborts, OnWhatNoTableHas) {
  GTEST_FLAG_SET(death_test_style, "fast");
  begun_with(by_command(), {step("a"), step("b", {"a"})});
  for (const Event& event : plan_events()) {
    if (event_as<StepAttemptStarted>(event) || event_as<StepBlocked>(event) ||
        event_as<PlanReset>(event)) {
      continue;
    }
    EXPECT_DEATH(given({event}), "not true") << shown(event);
  }
}

}  // namespace
}  // namespace signalbox
