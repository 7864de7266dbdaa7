// What operators decide about runners: who gets no new jobs, and who is gone for good. N3
#include "domain/placement.h"
#include "tests/domain/given_when_then.h"

namespace signalbox {
namespace {

const std::string one = runner_id("one", "0123456789abcdef");
const std::string two = runner_id("two", "0123456789abcdef");

Event drained(const std::string& runner) { return RunnerEvent{RunnerDrained{runner}}; }
Event undrained(const std::string& runner) { return RunnerEvent{RunnerUndrained{runner}}; }
Event evicted(const std::string& runner) { return RunnerEvent{RunnerEvicted{runner}}; }
Event readmitted(const std::string& runner) { return RunnerEvent{RunnerReadmitted{runner}}; }

class RunnerDecisionTest : public GivenWhenThen {};

TEST_F(RunnerDecisionTest, ADrainLastsUntilItIsTakenBack) {  // N3
  when(DrainRunner{one, {}});
  then({drained(one)});
  EXPECT_EQ(events.front().stream, Stream::server());
  EXPECT_EQ(world.runners.at(one), (RunnerDecision{RunnerStanding::drained, 1}));
  when(DrainRunner{one, true});
  then_nothing();
  EXPECT_EQ(world.standing_of(two), RunnerStanding::free);
  when(DrainRunner{one, false});
  then({undrained(one)});
  EXPECT_EQ(events.front().cause, 1U);
  EXPECT_TRUE(world.runners.empty());
  when(DrainRunner{one, false});
  then_nothing();
}

TEST_F(RunnerDecisionTest, AnEvictionLastsUntilTheRunnerIsReadmitted) {  // N3
  given({drained(one)});
  when(EvictRunner{one, {}});
  then({evicted(one)});
  EXPECT_EQ(events.front().cause, 1U);
  EXPECT_EQ(world.runners.at(one), (RunnerDecision{RunnerStanding::evicted, 2}));
  when(EvictRunner{one, true});
  then_nothing();
  for (const bool drains : {true, false}) {
    when(DrainRunner{one, drains});
    then_rejected(ErrorCode::RUNNER_EVICTED);
  }
  when(EvictRunner{one, false});
  then({readmitted(one)});
  EXPECT_EQ(world.standing_of(one), RunnerStanding::free) << "nor is it drained any more";
  when(EvictRunner{one, false});
  then_nothing();
}

TEST_F(RunnerDecisionTest, OutlastsARestart) {  // N3
  given({evicted(one), drained(two)});
  when(StartServer{"2"});
  when(StopServer{});
  when(StartServer{"3"});
  EXPECT_EQ(world.standing_of(one), RunnerStanding::evicted);
  EXPECT_EQ(world.standing_of(two), RunnerStanding::drained);
}

TEST_F(RunnerDecisionTest, OnlyIdsOfRunnersAreTaken) {  // N3
  const std::string longest =
      runner_id(std::string(limits::label_bytes_max - 17, 'a'), "0123456789abcdef");
  when(EvictRunner{longest, {}});
  then({evicted(longest)});
  for (const std::string& id :
       {std::string(), std::string("runner:"), std::string("one"), std::string("runner:A b"),
        std::string("runner:a\n"), std::string("runner:../a"), std::string("runner:a\0b", 10),
        std::string("0123456789abcdef0123456789abcdef"), longest + "0",
        "runner:" + std::string(1024 * 1024, 'a')}) {
    when(DrainRunner{id, {}});
    then_rejected(ErrorCode::INVALID_PARAMS);
    when(EvictRunner{id, {}});
    then_rejected(ErrorCode::INVALID_PARAMS);
    when(EvictRunner{id, false});
    then_rejected(ErrorCode::INVALID_PARAMS);
  }
}

// An evicted runner that was forgotten for another one would get jobs again.
TEST_F(RunnerDecisionTest, NoneIsForgottenForAnother) {  // N3
  std::vector<Event> unchecked;
  for (std::size_t number = 0; number < limits::decided_runners_max; ++number) {
    const std::string runner = runner_id("r" + std::to_string(number), "0123456789abcdef");
    unchecked.push_back(number % 2 == 0 ? evicted(runner) : drained(runner));
  }
  given(unchecked);
  const std::string first = runner_id("r0", "0123456789abcdef");
  const std::string second = runner_id("r1", "0123456789abcdef");
  when(EvictRunner{one, {}});
  then_rejected(ErrorCode::LIMIT_EXCEEDED);
  when(DrainRunner{one, {}});
  then_rejected(ErrorCode::LIMIT_EXCEEDED);
  EXPECT_EQ(world.standing_of(first), RunnerStanding::evicted);
  when(EvictRunner{second, {}});
  then({evicted(second)});
  when(DrainRunner{one, false});
  then_nothing();
  when(EvictRunner{first, false});
  then({readmitted(first)});
  when(EvictRunner{one, {}});
  then({evicted(one)});
}

TEST_F(RunnerDecisionTest, NoJobIsDispatchedToOneThatIsDrainedOrEvicted) {  // N3
  given({started({"p", {process_station("p")}}), drained(one), evicted(two)});
  const DispatchStation to_one{run, uuid_of(0x50), {}, one};
  when(to_one);
  then_nothing();
  when(DispatchStation{run, uuid_of(0x51), {}, two});
  then_nothing();
  EXPECT_NE(the_run().station().ready_at, 0U) << "it keeps its place in the queue";
  when(DrainRunner{one, false});
  when(to_one);
  then_names({"StationClaimed", "StationSubmitIntended"});
}

TEST_F(RunnerDecisionTest, WhatADrainedRunnerHasGoesOn) {  // N3
  given({started({"p", {process_station("p")}})});
  when(DispatchStation{run, uuid_of(0x50), {}, one});
  const Token token = the_run().attempt->token;
  when(DrainRunner{one, {}});
  ASSERT_TRUE(the_run().attempt);
  EXPECT_EQ(the_run().attempt->token, token);
  CompleteStation done;
  done.run_id = run;
  done.station = "p";
  done.token = token;
  done.from_executor = true;
  done.outcome = Outcome::succeeded;
  when(done);
  then_names({"StationSucceeded", "RunSucceeded"});
}

TEST_F(RunnerDecisionTest, TheTableIsWhatEvolveDoes) {
  GTEST_FLAG_SET(death_test_style, "fast");
  EXPECT_DEATH(given({undrained(one)}), "not true");
  EXPECT_DEATH(given({readmitted(one)}), "not true");
  given({drained(one)});
  EXPECT_DEATH(given({drained(one)}), "not true");
  EXPECT_DEATH(given({readmitted(one)}), "not true");
  given({evicted(one)});
  EXPECT_DEATH(given({evicted(one)}), "not true");
  EXPECT_DEATH(given({drained(one)}), "not true");
  EXPECT_DEATH(given({undrained(one)}), "not true");
  std::size_t rows = 0;
  for (const auto standing :
       {RunnerStanding::free, RunnerStanding::drained, RunnerStanding::evicted}) {
    for (const Event& event : {drained(one), undrained(one), evicted(one), readmitted(one)}) {
      if (next_standing(standing, tag_of(event).number)) ++rows;
    }
  }
  EXPECT_EQ(rows, runner_transitions.size());
}

}  // namespace
}  // namespace signalbox
