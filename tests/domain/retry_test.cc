// What follows a failed attempt: the same strategy, the next one, or the end of the station and its
// run.
#include <gtest/gtest.h>

#include "domain/retry_policy.h"
#include "tests/domain/given_when_then.h"

namespace signalbox {
namespace {

class RetryTest : public GivenWhenThen {
 protected:
  // Claims station a and ends the attempt with a failure of this class.
  void fail(ErrorClass error_class) {
    when(claim_by("ann"));
    ASSERT_EQ(events.size(), 1u);
    claim = *event_as<StationClaimed>(events[0].event);
    CompleteStation command = end_of("a", world.position, Outcome::failed);
    command.error_class = error_class;
    command.error_code = "X";
    when(command);
  }
  void wake() { when(WakeStation{run}); }

  void given_policy(RetryPolicy policy) {
    given({started({"one", {worker_station("a", std::move(policy)), worker_station("b")}})});
  }

  StationClaimed claim;
};

TEST_F(RetryTest, TransientLostAndQuotaKeepTheStrategyAndBackOff) {
  given_policy({3, 1000, {Strategy::original, Strategy::simplified}});
  std::int64_t delay_ms = 1000;
  for (const ErrorClass error_class :
       {ErrorClass::transient, ErrorClass::lost, ErrorClass::quota}) {
    fail(error_class);
    then_names({"StationAttemptFailed"});
    const auto* failed = event_as<StationAttemptFailed>(events[0].event);
    EXPECT_EQ(failed->next_strategy, Strategy::original);
    EXPECT_EQ(failed->retry_at_ns, now.wall_ns + delay_ms * 1'000'000);
    EXPECT_EQ(the_run().station().waiting, WaitReason::backoff);
    delay_ms *= 2;
    wake();
  }
  EXPECT_EQ(the_run().station().failures, 3u);
  fail(ErrorClass::transient);  // attempts = 1 + max_retries
  then_names({"StationFailed", "RunFailed"});
  EXPECT_EQ(claim.attempt, 4u);
}

TEST_F(RetryTest, TerminalMovesToTheNextStrategyUpToTheLast) {
  given_policy(
      {3,
       0,
       {Strategy::original, Strategy::simplified, Strategy::alternative, Strategy::decomposed}});
  for (const Strategy strategy :
       {Strategy::original, Strategy::simplified, Strategy::alternative}) {
    fail(ErrorClass::terminal);
    then_names({"StationAttemptFailed"});
    EXPECT_EQ(claim.strategy, strategy);
    wake();
  }
  fail(ErrorClass::terminal);
  EXPECT_EQ(claim.strategy, Strategy::decomposed);
  then_names({"StationFailed", "RunFailed"});
}

TEST_F(RetryTest, TerminalWithoutAnotherStrategyFailsAtOnce) {  // S4
  given_policy({3, 0, {Strategy::original}});
  fail(ErrorClass::terminal);
  then_names({"StationFailed", "RunFailed"});
  const auto* failed = event_as<RunFailed>(events[1].event);
  EXPECT_EQ(failed->station, "a");
  EXPECT_EQ(failed->code, "X");
  EXPECT_EQ(world.find_run(run), nullptr);
  EXPECT_EQ(world.ended_runs.find(run)->status, RunStatus::failed);
}

TEST_F(RetryTest, NamedRetriesCountForATerminalFailure) {  // A13
  RetryPolicy policy{0, 0, {Strategy::original}};
  name_max_retries(policy, 3);
  given_policy(policy);
  for (int attempt = 1; attempt <= 3; ++attempt) {
    fail(ErrorClass::terminal);
    then_names({"StationAttemptFailed"});
    wake();
  }
  fail(ErrorClass::terminal);
  EXPECT_EQ(claim.attempt, 4U);
  EXPECT_EQ(claim.strategy, Strategy::original);
  then_names({"StationFailed", "RunFailed"});
}

TEST_F(RetryTest, NamedRetriesTakeEachStrategyBeforeTheLastOneIsRepeated) {  // A13
  RetryPolicy policy{0, 0, {Strategy::original, Strategy::simplified}};
  name_max_retries(policy, 3);
  given_policy(policy);
  std::vector<Strategy> tried;
  for (int attempt = 1; attempt <= 4; ++attempt) {
    fail(ErrorClass::terminal);
    tried.push_back(claim.strategy);
    if (attempt < 4) wake();
  }
  EXPECT_EQ(tried, (std::vector<Strategy>{Strategy::original, Strategy::simplified,
                                          Strategy::simplified, Strategy::simplified}));
  then_names({"StationFailed", "RunFailed"});
}

TEST_F(RetryTest, ARunsOwnRetriesCountForATerminalFailure) {  // A13
  StartRun start;
  start.goal = "goal";
  start.run_id = run;
  start.pipeline = PipelineDefinition{"one", {worker_station("a", {3, 0, {Strategy::original}})}};
  start.pipeline_digest = digest_of(0x90);
  start.max_retries = 1;
  when(start);
  fail(ErrorClass::terminal);
  then_names({"StationAttemptFailed"});
  wake();
  fail(ErrorClass::terminal);
  then_names({"StationFailed", "RunFailed"});
}

// A merge conflict isn't mended by another merge of the same commits.
TEST_F(RetryTest, ABuiltInStationIsNotTriedAgainAfterATerminalFailure) {  // A13
  StationDefinition station = builtin_station(BuiltinStation::merge);
  name_max_retries(station.retry, 3);
  EXPECT_FALSE(repeats_last_strategy(station, 3));
  station.executor = ExecutorKind::process;
  EXPECT_TRUE(repeats_last_strategy(station, std::nullopt));
  station.retry = {};
  EXPECT_FALSE(repeats_last_strategy(station, std::nullopt));
  EXPECT_TRUE(repeats_last_strategy(station, 3));
  station.executor = ExecutorKind::deep_work;
  EXPECT_FALSE(repeats_last_strategy(station, 3)) << "it is the number of its steps' retries";
}

TEST_F(RetryTest, ConfigFailsAtOnceWhateverIsLeft) {  // A13
  RetryPolicy policy{0, 0, {Strategy::original, Strategy::simplified}};
  name_max_retries(policy, 3);
  given_policy(policy);
  fail(ErrorClass::config);
  then_names({"StationFailed", "RunFailed"});
}

TEST_F(RetryTest, AFailureWithoutAClassIsTerminalAndATimeoutTransient) {
  given({started({"one", {worker_station("a", {1, 0, {Strategy::original}})}}), claimed("a")});
  CompleteStation command = end_of("a", 2, Outcome::timeout);
  when(command);
  then_names({"StationAttemptFailed"});
  EXPECT_EQ(event_as<StationAttemptFailed>(events[0].event)->failure.error_class,
            ErrorClass::transient);
  EXPECT_EQ(event_as<StationAttemptFailed>(events[0].event)->failure.code, "TIMEOUT");
  wake();
  when(claim_by("ann"));
  command.token = world.position;
  when(command);
  then_names({"StationTimedOut", "RunFailed"});  // S4

  run = uuid_of(2);
  given({started({"one", {worker_station("a", {1, 0, {Strategy::original}})}}), claimed("a")});
  command.run_id = run;
  command.token = world.position;
  command.outcome = Outcome::failed;
  when(command);
  then_names({"StationFailed", "RunFailed"});
  EXPECT_EQ(event_as<StationFailed>(events[0].event)->failure.error_class, ErrorClass::terminal);
}

TEST_F(RetryTest, TheNextAttemptIsToldHowTheLastOneEnded) {
  given_policy({3, 0, {Strategy::original}});
  fail(ErrorClass::transient);
  EXPECT_EQ(the_run().previous, "X");
  wake();
  when(claim_by("ann"));
  when(end_of("a", world.position));
  EXPECT_EQ(the_run().previous, "") << "it was about another station";
}

TEST_F(RetryTest, ALongFailureIsCutBetweenCharacters) {
  std::string wide;
  while (wide.size() < 2000) wide += "…";
  given({started({"one", {worker_station("a")}}), claimed("a"),
         StationEvent{StationAttemptFailed{"a",
                                           1,
                                           {Outcome::failed, ErrorClass::transient, "X", wide},
                                           {},
                                           5,
                                           Strategy::original}}});
  const std::string& previous = the_run().previous;
  EXPECT_LE(previous.size(), 1024u);
  EXPECT_GT(previous.size(), 1020u);
  EXPECT_EQ(previous, ("X: " + wide).substr(0, previous.size()));
  EXPECT_EQ(previous.substr(previous.size() - 3), "…");
}

TEST_F(RetryTest, ASucceededStationIsNeverRewound) {  // S3
  given_policy({1, 0, {Strategy::original}});
  given({claimed("a"), succeeded("a"), claimed("b"), StationEvent{StationFailed{"b", 1, {}, {}}},
         RunEvent{RunFailed{}}});
  when(end_of("a", 2));
  then_rejected(ErrorCode::RUN_TERMINAL);
}

}  // namespace
}  // namespace signalbox
