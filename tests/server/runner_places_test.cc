// Which runners the service takes: those that drain or were evicted, and how many.
#include "tests/server/runner_registry_fixture.h"

namespace signalbox {
namespace {

TEST_F(RunnerRegistryTest, OneThatDrainsTakesNoNewJobs) {  // N3
  report();
  EXPECT_TRUE(registry.offers()->at(one).takes_new);
  registry.drain(one, true);
  EXPECT_FALSE(registry.offers()->at(one).takes_new);
  EXPECT_TRUE(answer().drains);
  registry.drain(one, false);
  EXPECT_TRUE(registry.offers()->at(one).takes_new);
}

TEST_F(RunnerRegistryTest, OneThatIsEvictedIsLostAtOnceAndForGood) {  // N3
  report({{"a", "ref", false, false}});
  EXPECT_EQ(poll("a").value(), JobState::running);
  registry.evict(one);
  EXPECT_EQ(poll("a").value(), JobState::lost);
  EXPECT_TRUE(registry.offers()->at(one).is_evicted);
  const auto refused = registry.report(report_of(), now_ns);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::RUNNER_EVICTED);
}

TEST_F(RunnerRegistryTest, OneThatIsReadmittedIsAsNew) {  // N3
  report({{"a", "ref", false, false}});
  EXPECT_EQ(poll("a").value(), JobState::running);
  registry.drain(one, true);
  registry.evict(one);
  wanted.erase("a");
  pass(1000);
  registry.evict(one, false);
  report({{"a", "ref", false, false}});
  EXPECT_TRUE(registry.offers()->at(one).takes_new);
  EXPECT_FALSE(registry.offers()->at(one).is_evicted);
  const RunnerAnswer told = answer();
  EXPECT_EQ(told.forget, Names{"a"}) << "it was lost";
  EXPECT_FALSE(told.drains);
}

// Of a restarted service, or another one of the cell: the runner hasn't reported there.
TEST_F(RunnerRegistryTest, WhatTheLogSaysHoldsBeforeTheyReport) {  // K3, N3
  const std::string two = runner_id("two", "0123456789abcdef");
  World world;
  world.runners = {{one, {RunnerStanding::evicted, 1}}, {two, {RunnerStanding::drained, 2}}};
  registry.restore(world);
  EXPECT_EQ(poll("a").value(), JobState::lost);
  EXPECT_TRUE(registry.offers()->at(one).is_evicted);
  EXPECT_EQ(registry.report(report_of(), now_ns).error().code, ErrorCode::RUNNER_EVICTED);
  EXPECT_EQ(registry.get(one, now_ns).value().state, RunnerState::evicted);
  EXPECT_TRUE(registry.get(two, now_ns).value().drains);
  RunnerReport other = report_of();
  other.runner = two;
  EXPECT_TRUE(registry.report(other, now_ns));
  EXPECT_FALSE(registry.offers()->at(two).takes_new);
  std::vector<Record> commit(2);
  commit[0].event = RunnerEvent{RunnerReadmitted{one}};
  commit[1].event = RunnerEvent{RunnerUndrained{two}};
  EXPECT_TRUE(registry.apply(commit));
  EXPECT_TRUE(registry.report(report_of(), now_ns));
  EXPECT_TRUE(registry.offers()->at(two).takes_new);
  commit[0].event = RunnerEvent{RunnerDrained{one}};
  commit[1].event = RunnerEvent{RunnerEvicted{two}};
  EXPECT_TRUE(registry.apply(commit));
  EXPECT_TRUE(answer().drains);
  EXPECT_EQ(registry.report(other, now_ns).error().code, ErrorCode::RUNNER_EVICTED);
  commit.resize(1);
  commit[0].event = ServerEvent{ServerStopped{}};
  EXPECT_FALSE(registry.apply(commit));
}

// Those that come don't find all places taken by those that are gone.
TEST_F(RunnerRegistryTest, OnesThatWereEvictedTakeNoPlace) {  // N3
  for (std::size_t index = 0; index < limits::runners_max; ++index) {
    registry.evict(runner_id("r" + std::to_string(index), "0123456789abcdef"));
  }
  EXPECT_TRUE(registry.report(report_of(), now_ns, "token:one"));
}

TEST_F(RunnerRegistryTest, OnesThatAreGoneTakeNoPlaceOfTheirToken) {  // N3
  for (std::size_t index = 0; index < limits::caller_runners_max; ++index) {
    RunnerReport other = report_of();
    other.runner = runner_id("r", std::to_string(index));
    ASSERT_TRUE(registry.report(other, now_ns, "token:one"));
    if (index % 2 == 0) registry.drain(other.runner, true);
  }
  EXPECT_EQ(registry.report(report_of(), now_ns, "token:one").error().code, ErrorCode::OVERLOADED);
  pass(limits::runner_lease_ms_min + 1000);
  EXPECT_TRUE(registry.report(report_of(), now_ns, "token:one"));
}

TEST_F(RunnerRegistryTest, TheyAreFewAndThoseThatAreGoneMakeRoom) {
  std::size_t count = 0;
  const auto fill = [&](std::size_t runners, const std::string& caller) {
    for (std::size_t index = 0; index < runners; ++index) {
      RunnerReport report = report_of();
      report.runner = runner_id("r", std::to_string(++count));
      ASSERT_TRUE(registry.report(report, now_ns, caller));
    }
  };
  fill(limits::caller_runners_max, "token:one");
  EXPECT_EQ(registry.report(report_of(), now_ns, "token:one").error().code, ErrorCode::OVERLOADED);
  fill(limits::runners_max - limits::caller_runners_max, "token:two");
  EXPECT_EQ(registry.report(report_of(), now_ns, "token:three").error().code,
            ErrorCode::OVERLOADED);
  pass(limits::runner_lease_ms_min + 1000);
  EXPECT_TRUE(registry.report(report_of(), now_ns));
}

}  // namespace
}  // namespace signalbox
