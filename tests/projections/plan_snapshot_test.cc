// A snapshot of a world with deep work under way restores it unchanged, with the indexes derived
// from it.
#include <gtest/gtest.h>

#include "domain/evolve.h"
#include "domain/invariants.h"
#include "projections/world_codec.h"

namespace signalbox {
namespace {

World world_with_a_plan() {
  RunId run;
  run.bytes.back() = 1;
  StationDefinition station;
  station.name = "work";
  station.executor = ExecutorKind::deep_work;
  station.deep_work.emplace();
  RunStarted started;
  started.goal = "goal";
  started.pipeline = PipelineDefinition{"deep", {station}, {}};
  const StepDefinition step{"a", "do it", StepType::review, {}, StepEffort::large};
  World world;
  for (const Event& event : std::vector<Event>{
           RunEvent{started},
           StationEvent{StationClaimed{"work", 1, Strategy::original, "signalbox", 0, 0}},
           PlanEvent{ExplorationFinished{"work", {"small", {"a.c"}, {"old"}}, 0, 0}},
           PlanEvent{PlanSet{"work", {step}, 2}},
           PlanEvent{StepAttemptStarted{"work", "a", 1, Strategy::original, "ann", 1000}}}) {
    Record record;
    record.position = world.position + 1;
    record.stream = Stream::run(run);
    record.event = event;
    evolve(world, record);
  }
  return world;
}

TEST(PlanSnapshot, KeepsThePlanAndWhatIsDerivedFromIt) {
  const World world = world_with_a_plan();
  const std::string bytes = encode_world(world);
  const auto decoded = decode_world(bytes);
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(broken_invariants(*decoded), std::vector<std::string>{});
  EXPECT_EQ(decoded->planned, world.planned);
  EXPECT_EQ(decoded->runs.begin()->second->plan, world.runs.begin()->second->plan);
  EXPECT_EQ(decoded->runs.begin()->second->plan->cut, 2U);
  EXPECT_EQ(encode_world(*decoded), bytes);
}

}  // namespace
}  // namespace signalbox
