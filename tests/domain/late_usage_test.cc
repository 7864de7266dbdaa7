// What an attempt has used up counts, though it is told only after the attempt has ended.
#include "domain/evolve.h"
#include "tests/domain/given_when_then.h"

namespace signalbox {
namespace {

class LateUsageTest : public GivenWhenThen {
 protected:
  static Event started_with(Budget budget, RetryPolicy retry = {}) {
    Event event = started({"p", {worker_station("a", std::move(retry)), worker_station("b")}});
    std::get<RunStarted>(std::get<RunEvent>(event)).budget = budget;
    return event;
  }
  static Event lost(std::uint32_t attempt = 1) {
    return StationEvent{StationAttemptFailed{"a",
                                             attempt,
                                             {Outcome::failed, ErrorClass::lost, "JOB_LOST", ""},
                                             {},
                                             5,
                                             Strategy::original}};
  }
  static std::vector<Event> failed_for_good() {
    return {claimed("a"),
            StationEvent{
                StationFailed{"a", 1, {Outcome::failed, ErrorClass::lost, "JOB_LOST", ""}, {}}},
            RunEvent{RunFailed{"a", ErrorClass::lost, "JOB_LOST", ""}}};
  }
  // The attempt of position 2 is told to have used this.
  [[nodiscard]] NoteLateUsage told(const Usage& usage) const {
    return {run, "a", 1, 2, uuid_of(9), usage, world.position};
  }
  [[nodiscard]] std::vector<Record> log_of(const std::vector<Event>& past) const {
    std::vector<Record> records;
    for (const Event& event : past) {
      Record& record = records.emplace_back();
      record.position = records.size();
      record.stream = Stream::run(run);
      record.event = event;
    }
    return records;
  }
};

TEST_F(LateUsageTest, CountsWhileAnotherAttemptIsUnderWay) {  // A5, N5
  given({started_with({}), claimed("a"), lost(), StationEvent{StationReady{"a"}}, claimed("a", 2)});
  when(told({5, 6, 7}));
  then({RunEvent{LateUsageReported{"a", 1, {5, 6, 7}}}});
  EXPECT_EQ(events[0].cause, 2U);
  EXPECT_EQ(events[0].span_id, uuid_of(9));
  EXPECT_EQ(the_run().used, (Usage{5, 6, 7}));
  EXPECT_EQ(the_run().status, RunStatus::running);
  EXPECT_EQ(the_run().attempt->number, 2U) << "the attempt under way goes on";
}

TEST_F(LateUsageTest, OfNothingIsNoEvent) {
  given({started_with({}), claimed("a"), lost()});
  when(told({}));
  then_nothing();
}

TEST_F(LateUsageTest, IsNotTakenOfTheAttemptUnderWay) {  // its end will tell
  given({started_with({}), claimed("a")});
  when(told({5, 6, 7}));
  then_nothing();
}

TEST_F(LateUsageTest, HasBounds) {  // A5
  given({started_with({}), claimed("a"), lost()});
  when(told({-1, 0, 0}));
  then_rejected(ErrorCode::INVALID_PARAMS);
  when(told({0, limits::usage_max + 1, 0}));
  then_rejected(ErrorCode::INVALID_PARAMS);
}

TEST_F(LateUsageTest, ThatUsesUpTheBudgetHoldsTheStationInTurn) {  // A5, S7
  given({started_with({0, 0, 10}), claimed("a"), lost(), StationEvent{StationReady{"a"}}});
  when(told({0, 0, 10}));
  then_names({"LateUsageReported", "StationHeld"});
  EXPECT_EQ(the_run().station().waiting, WaitReason::budget);
  when(claim_by("ann"));
  then_nothing();
  when(ResumeRun{run, {}, {}, Budget{0, 0, 20}});
  then_names({"RunBudgetRaised", "StationReady"});
}

TEST_F(LateUsageTest, ThatUsesUpTheBudgetHoldsARetryOnceItIsDue) {  // A5, S7
  given({started_with({0, 0, 10}), claimed("a"), lost()});
  when(told({0, 0, 10}));
  then_names({"LateUsageReported"});
  when(WakeStation{run});
  then_names({"StationHeld"});
}

TEST_F(LateUsageTest, ThatUsesUpTheBudgetHoldsAPausedRun) {  // A5, S7
  given({started_with({0, 0, 10}), claimed("a"), lost(), StationEvent{StationReady{"a"}},
         RunEvent{RunPaused{}}});
  when(told({0, 0, 10}));
  then_names({"LateUsageReported", "StationHeld"});
  EXPECT_EQ(the_run().status, RunStatus::paused);
}

TEST_F(LateUsageTest, OfARunThatHasEndedChangesNothingElse) {  // N5
  std::vector<Event> past{started_with({})};
  for (const Event& event : failed_for_good()) past.push_back(event);
  given(past);
  when(told({5, 6, 7}));
  then_names({"LateUsageReported"});
  EXPECT_EQ(world.find_run(run), nullptr);
  EXPECT_EQ(world.ended_runs.find(run)->status, RunStatus::failed);
  EXPECT_EQ(world.ended_runs.find(run)->ended_at, 4U);
}

TEST_F(LateUsageTest, IsReadAgainAfterThatOfAnother) {  // counted twice otherwise
  given({started_with({}), claimed("a"), lost()});
  const NoteLateUsage first = told({5, 6, 7});
  when(first);
  then_names({"LateUsageReported"});
  when(first);
  then_rejected(ErrorCode::OVERLOADED);
  EXPECT_EQ(the_run().used, (Usage{5, 6, 7}));
}

// Its usage came with its end, which the records lack that were read before.
TEST_F(LateUsageTest, IsReadAgainAfterTheEndOfTheAttempt) {  // A5: counted twice otherwise
  given({started_with({}), claimed("a")});
  const NoteLateUsage read_before = told({5, 6, 7});
  CompleteStation failed = end_of("a", 2, Outcome::failed);
  failed.error_class = ErrorClass::transient;
  failed.usage = Usage{5, 6, 7};
  when(failed);
  then_names({"StationUsageReported", "StationAttemptFailed"});
  when(read_before);
  then_rejected(ErrorCode::OVERLOADED);
  when(CancelRun{run, {}});
  ASSERT_EQ(world.find_run(run), nullptr);
  when(read_before);
  then_rejected(ErrorCode::OVERLOADED);
}

TEST_F(LateUsageTest, CountsForTheRetryOfItsRun) {  // A5, S11
  std::vector<Event> past{started_with({0, 0, 10})};
  for (const Event& event : failed_for_good()) past.push_back(event);
  given(past);
  RetryRun retry;
  retry.run_id = run;
  const PipelineDefinition pipeline = *world.pipelines.at(digest_of(0x90)).definition;
  retry.failed = evolved_failed_run(log_of(past), pipeline);
  retry.failed_at = 4;
  retry.read_at = 4;
  when(told({1, 2, 10}));
  when(retry);
  then_rejected(ErrorCode::OVERLOADED);
  past.emplace_back(RunEvent{LateUsageReported{"a", 1, {1, 2, 10}}});
  retry.failed = evolved_failed_run(log_of(past), pipeline);
  ASSERT_NE(retry.failed, nullptr);
  EXPECT_EQ(retry.failed->used, (Usage{1, 2, 10}));
  retry.read_at = world.position;
  when(retry);
  then_names({"RunRetried", "StationHeld"});
  EXPECT_EQ(the_run().used, (Usage{1, 2, 10}));
}

}  // namespace
}  // namespace signalbox
