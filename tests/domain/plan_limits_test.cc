// The limits of explorations, plans and steps. P8
#include <gtest/gtest.h>

#include <vector>

#include "tests/domain/limits_fixture.h"
#include "tests/domain/plan_fixture.h"

namespace signalbox {
namespace {

class PlanLimits : public LimitsTest {
 protected:
  // The attempt of the run's station has token 2.
  PlanLimits() {
    DeepWorkDefinition work = by_command();
    work.max_steps = static_cast<std::uint32_t>(limits::plan_steps_max);
    work.max_files = static_cast<std::uint32_t>(limits::explored_files_max);
    given(
        {started(deep_pipeline(std::move(work))), dispatched("implement"), intended("implement")});
  }
  [[nodiscard]] SetPlan plan_of(std::vector<ProposedStep> steps) const {
    return {run, "implement", 2, std::move(steps)};
  }
  [[nodiscard]] SetExploration exploration() const {
    SetExploration command;
    command.run_id = run;
    command.station = "implement";
    command.token = 2;
    return command;
  }
  // Returns what the exploration leaves in the log.
  [[nodiscard]] ExplorationFinished finished(const SetExploration& command) const {
    const auto decided = decide(world, command, now);
    EXPECT_TRUE(decided);
    return decided ? *event_as<ExplorationFinished>(decided->back().event) : ExplorationFinished{};
  }
};

TEST_F(PlanLimits, OfAnExploration) {  // D2
  expect_bytes_max("summary", limits::summary_bytes_max,
                   with_field(exploration(), &SetExploration::summary));
  SetExploration command = exploration();
  command.files.assign(limits::explored_files_max, "f");
  EXPECT_EQ(finished(command).files_cut, 0U);
  command.files.emplace_back("f");
  EXPECT_EQ(finished(command).files_cut, 1U);
  command.files.clear();
  command.findings.assign(limits::explored_files_max, "f");
  EXPECT_EQ(finished(command).findings_cut, 0U);
  command.findings.emplace_back("f");
  EXPECT_EQ(finished(command).findings_cut, 1U);
}

// Eight bytes are counted for the length of each.
TEST_F(PlanLimits, OfTheTextOfAnExploration) {  // D2
  SetExploration command = exploration();
  command.files = {std::string(1000, 'f')};
  command.findings = {std::string(limits::exploration_bytes_max - 1000 - 2 * 8, 'x')};
  EXPECT_EQ(finished(command).findings_cut, 0U);
  command.findings.front() += 'x';
  EXPECT_EQ(finished(command).findings_cut, 1U);
}

TEST_F(PlanLimits, OfTheStepsOfAPlan) {  // D3
  given({explored()});
  std::vector<ProposedStep> steps;
  while (steps.size() < limits::plan_steps_max) {
    steps.push_back(proposed("s" + std::to_string(steps.size())));
  }
  when(plan_of(steps));
  then_names({"PlanSet"});
  EXPECT_EQ(event_as<PlanSet>(events[0].event)->cut, 0U);
  EXPECT_EQ(the_run().plan->steps.size(), limits::plan_steps_max);
}

TEST_F(PlanLimits, OfMoreStepsTheFirstOnesAreTaken) {  // D3
  given({explored()});
  std::vector<ProposedStep> steps;
  while (steps.size() <= limits::plan_steps_max) {
    steps.push_back(proposed("s" + std::to_string(steps.size())));
  }
  when(plan_of(steps));
  then_names({"PlanSet"});
  EXPECT_EQ(event_as<PlanSet>(events[0].event)->cut, 1U);
  EXPECT_EQ(the_run().plan->steps.size(), limits::plan_steps_max);
  EXPECT_EQ(the_run().plan->find("s" + std::to_string(limits::plan_steps_max)), nullptr);
}

TEST_F(PlanLimits, OfTheIdOfAStep) {
  given({explored()});
  EXPECT_EQ(refusal_of(plan_of({proposed(std::string(limits::step_id_bytes_max, 's'))})),
            std::nullopt);
  EXPECT_EQ(refusal_of(plan_of({proposed(std::string(limits::step_id_bytes_max + 1, 's'))})),
            ErrorCode::PLAN_INVALID);
}

TEST_F(PlanLimits, OfTheTextOfAPlan) {
  given({explored()});
  const auto with_description = [this](const std::string& text) -> Command {
    ProposedStep step_with_text = proposed("s");
    step_with_text.description = text;
    return plan_of({step_with_text});
  };
  const std::size_t bytes = longest_accepted(limits::plan_bytes_max, with_description);
  EXPECT_LT(bytes, limits::plan_bytes_max) << "a step's id and its length count as well";
  EXPECT_GT(bytes, limits::plan_bytes_max - 64);
  EXPECT_EQ(refusal_of(with_description(std::string(bytes + 1, 'x'))), ErrorCode::LIMIT_EXCEEDED);
}

TEST_F(PlanLimits, OfTheEndOfAStep) {
  given({explored(), planned({step("s")}), step_started("s")});
  const Token token = world.position;
  expect_bytes_max("summary", limits::summary_bytes_max,
                   with_field(CompleteStep{run, "s", token, {}}, &CompleteStep::summary));
  const FailStep failing{run, "s", token, {}, {}, {}};
  expect_bytes_max("error_code", limits::name_bytes_max,
                   with_field(failing, &FailStep::error_code));
  expect_bytes_max("error_message", limits::reason_bytes_max,
                   with_field(failing, &FailStep::error_message));
  expect_between("lease_ms", limits::lease_ms_min, limits::lease_ms_max,
                 with_field(HeartbeatStep{run, "s", token, {}}, &HeartbeatStep::lease_ms));
}

TEST_F(PlanLimits, OfAClaimOfAStep) {
  const NextStep next{"ann", {}, {}, {}, {}};
  expect_bytes_max("worker", limits::name_bytes_max, with_field(next, &NextStep::worker));
  expect_between("lease_ms", limits::lease_ms_min, limits::lease_ms_max,
                 with_field(next, &NextStep::lease_ms));
}

TEST_F(PlanLimits, OfARunsRecords) {  // G7
  given({explored(), planned({step("one")}), step_started("one", 1, Strategy::original, 500)});
  const std::uint32_t counted = the_run().records;
  given({PlanEvent{StepHeartbeat{"one", 600}}, PlanEvent{PlanReset{"implement", ""}}});
  EXPECT_EQ(the_run().records, counted + 2);
  world.find_run(run)->records = limits::run_records_max - 1;
  EXPECT_EQ(refusal_of(plan_of({proposed("one")})), std::nullopt);
  world.find_run(run)->records = limits::run_records_max;
  EXPECT_EQ(refusal_of(plan_of({proposed("one")})), ErrorCode::LIMIT_EXCEEDED);
  world.find_run(run)->records = 0;
  given({planned({step("one")}), step_started("one", 1, Strategy::original, 500)});
  EXPECT_EQ(the_run().records, Run::records_of_plan + 1);
  const HeartbeatStep beat{run, "one", world.position, 700};
  EXPECT_EQ(refusal_of(beat), std::nullopt);
  world.find_run(run)->records = limits::run_records_max;
  EXPECT_EQ(refusal_of(beat), ErrorCode::LIMIT_EXCEEDED);
  EXPECT_EQ(refusal_of(CompleteStep{run, "one", world.position, {}}), std::nullopt);
}

TEST_F(PlanLimits, OfTheCharactersOfAStepsId) {  // D2
  given({explored()});
  for (const char* id : {"A", "z", "0", "9", "a.b-c_d"}) {
    EXPECT_EQ(refusal_of(plan_of({proposed(id)})), std::nullopt) << id;
  }
  for (const char* id : {"", ".a", "a b", "a,b", "a/b", "a:b", "a@b", "a[b", "a`b", "a{b"}) {
    EXPECT_EQ(refusal_of(plan_of({proposed(id)})), ErrorCode::PLAN_INVALID) << id;
  }
}

TEST_F(PlanLimits, OfAFailedStep) {
  given({explored(), planned({step("one"), step("two", {"one"})}), step_started("one")});
  const FailStep fail{run, "one", world.position, {}, "X", {}};
  expect_bytes_max("error_code", limits::name_bytes_max, with_field(fail, &FailStep::error_code));
  expect_bytes_max("error_message", limits::reason_bytes_max,
                   with_field(fail, &FailStep::error_message));
}

}  // namespace
}  // namespace signalbox
