// What the service knows of its runners: their leases, and how the jobs that they were given are.
#include "tests/server/runner_registry_fixture.h"

namespace signalbox {
namespace {

TEST_F(RunnerRegistryTest, AJobIsOrderedUntilTheRunnerHasIt) {  // N1
  report();
  EXPECT_EQ(poll("a").value(), JobState::absent);
  EXPECT_EQ(executor.submit(job("a")).value(), "") << "its runner tells the ref";
  EXPECT_EQ(woken, Names{one});
  EXPECT_EQ(poll("a").value(), JobState::running);
  for (int again = 0; again < 2; ++again) {
    const RunnerAnswer told = answer();
    ASSERT_EQ(told.orders.size(), 1U);
    EXPECT_EQ(told.orders.front().job.id, "a");
    EXPECT_EQ(told.orders.front().secret, "secret of a");
  }
  report({{"a", "ref", false, false}});
  EXPECT_TRUE(answer().empty());
  EXPECT_EQ(executor.learned_ref(job("a")).value(), "ref");
}

TEST_F(RunnerRegistryTest, AResultIsTakenOnceAndTheJobForgottenWhenItsAttemptHasEnded) {  // N1
  report();
  (void)executor.submit(job("a"));
  report({{"a", "ref", false, false}});
  JobResult result;
  result.outcome = Outcome::succeeded;
  result.result.summary = "first";
  EXPECT_TRUE(registry.finish(one, "a", result));
  result.result.summary = "second";
  EXPECT_TRUE(registry.finish(one, "a", result, "session"));
  EXPECT_EQ(executor.learned_ref(job("a")).value(), "session") << "its job may end before a report";
  EXPECT_EQ(poll("a").value(), JobState::finished);
  EXPECT_EQ(executor.fetch_result(job("a")).value().result.summary, "first");
  report({{"a", "ref", true, false}});
  EXPECT_TRUE(answer().empty()) << "the attempt hasn't ended yet";
  wanted.erase("a");
  EXPECT_EQ(answer().forget, Names{"a"});
}

// After a restart of the service.
TEST_F(RunnerRegistryTest, WhatARunnerReportsIsFollowedAndWhatItLacksIsAbsent) {  // N5
  const auto unknown = poll("a");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, "RUNNER_AWAY");
  report({{"a", "ref", false, false}});
  EXPECT_EQ(poll("a").value(), JobState::running);
  EXPECT_EQ(poll("b").value(), JobState::absent);
}

// A log that was copied: the runner may work for the service that it was copied from.
TEST_F(RunnerRegistryTest, AJobOfAServiceBeforeIsLostByAPersonsWordOnly) {  // G11
  registry.expect_former_jobs(job("a").token);
  registry.expect(one);
  pass(2 * limits::runner_lease_ms_default);
  const auto unknown = poll("a");
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message.find("once it is evicted"), std::string::npos);
  registry.evict(one);
  EXPECT_EQ(poll("a").value(), JobState::lost);
}

TEST_F(RunnerRegistryTest, UntilItsRunnerHasReportedHere) {  // G11
  registry.expect_former_jobs(job("a").token);
  report();
  EXPECT_EQ(poll("a").value(), JobState::absent);
  pass(2 * limits::runner_lease_ms_min);
  EXPECT_EQ(poll("a").value(), JobState::lost);
}

TEST_F(RunnerRegistryTest, AResultThatWasGivenToAnEarlierServiceIsWantedAgain) {  // N5
  report({{"a", "ref", true, false}});
  EXPECT_EQ(poll("a").value(), JobState::running);
  EXPECT_EQ(answer().results_wanted, Names{"a"});
}

TEST_F(RunnerRegistryTest, AJobThatTheRunnerHadAndHasNoMoreIsLost) {  // N5
  report({{"a", "ref", false, false}});
  EXPECT_EQ(poll("a").value(), JobState::running);
  report();
  EXPECT_EQ(poll("a").value(), JobState::lost);
  JobResult lost;
  executor.describe_lost(job("a"), lost);
  EXPECT_NE(lost.failure.message.find("has it no more"), std::string::npos) << lost.failure.message;
}

TEST_F(RunnerRegistryTest, ALateReportChangesNothing) {  // N5
  const RunnerReport late = report_of();
  report({{"a", "ref", false, false}});
  EXPECT_EQ(poll("a").value(), JobState::running);
  EXPECT_TRUE(registry.report(late, now_ns));
  EXPECT_EQ(poll("a").value(), JobState::running);
  ++start;  // the runner was started again
  number = 0;
  report();
  EXPECT_EQ(poll("a").value(), JobState::lost);
}

// A report has all jobs; the service looks only at those that changed.
TEST_F(RunnerRegistryTest, NewsAreTheJobsThatChanged) {  // N6
  using Ids = std::vector<std::string>;
  registry.order(job("a"), "secret");
  EXPECT_EQ(news_of({}).jobs, Ids{});
  EXPECT_EQ(news_of({{"a", ""}, {"b", ""}}).jobs, (Ids{"a", "b"}));
  EXPECT_EQ(news_of({{"a", ""}, {"b", ""}}).jobs, Ids{});
  EXPECT_EQ(news_of({{"a", "7"}, {"b", ""}}).jobs, Ids{"a"});
  EXPECT_EQ(news_of({{"b", ""}}).jobs, Ids{"a"}) << "it is lost";
  EXPECT_EQ(news_of({{"b", ""}}).jobs, Ids{});
}

TEST_F(RunnerRegistryTest, ARunnerThatDoesNotReportIsLostWithItsLease) {  // N5
  report({{"a", "ref", false, false}});
  EXPECT_EQ(poll("a").value(), JobState::running);
  EXPECT_FALSE(pass(limits::runner_lease_ms_min));
  EXPECT_EQ(poll("a").value(), JobState::running);
  EXPECT_TRUE(pass(1000));
  EXPECT_EQ(poll("a").value(), JobState::lost);
  EXPECT_FALSE(registry.offers()->at(one).takes_new);
  JobResult lost;
  executor.describe_lost(job("a"), lost);
  EXPECT_NE(lost.failure.message.find("hasn't reported"), std::string::npos);
  EXPECT_TRUE(lost.cancel_unconfirmed);
  wanted.erase("a");
  EXPECT_TRUE(report({{"a", "ref", false, false}})) << "it is back";
  EXPECT_EQ(answer().forget, Names{"a"});
}

TEST_F(RunnerRegistryTest, HasAJobWhileItReportsIt) {  // W1, N5
  report();
  (void)executor.submit(job("a"));
  EXPECT_FALSE(registry.has_job(one, "a")) << "it was given it, and hasn't begun it";
  report({{"a", "", false, false}});
  EXPECT_TRUE(registry.has_job(one, "a"));
  pass(4 * limits::runner_wait_ms_max);
  EXPECT_FALSE(registry.has_job(one, "a")) << "it may sleep";
  report({{"a", "", false, false}});
  EXPECT_TRUE(registry.has_job(one, "a"));
}

TEST_F(RunnerRegistryTest, OneThatNeverReportsIsLostAfterTheUsualLease) {  // N5
  EXPECT_FALSE(poll("a"));
  pass(limits::runner_lease_ms_default);
  EXPECT_FALSE(poll("a"));
  pass(2000);
  EXPECT_EQ(poll("a").value(), JobState::lost);
}

TEST_F(RunnerRegistryTest, AServiceThatWasStoppedGivesAllTheirLeaseAgain) {  // N5
  report({{"a", "ref", false, false}});
  EXPECT_EQ(poll("a").value(), JobState::running);
  now_ns += 100 * limits::runner_lease_ms_min * ns_per_ms;
  EXPECT_FALSE(registry.sweep(now_ns, is_wanted));
  EXPECT_EQ(poll("a").value(), JobState::running);
}

// An earlier answer may have ordered it: the runner tells how it ended.
TEST_F(RunnerRegistryTest, ACanceledJobIsStillOrderedUntilTheRunnerHasIt) {  // N1
  report();
  (void)executor.submit(job("a"));
  EXPECT_TRUE(executor.cancel(job("a")));
  const RunnerAnswer told = answer();
  EXPECT_EQ(told.orders.size(), 1U);
  EXPECT_EQ(told.cancel, Names{"a"});
  report({{"a", "", false, true}});
  EXPECT_TRUE(answer().empty());
  EXPECT_EQ(poll("a").value(), JobState::running);
}

TEST_F(RunnerRegistryTest, ManyOrdersComeInSeveralAnswers) {  // N1
  report();
  std::vector<RunnerJobReport> taken;
  for (std::size_t index = 0; index < limits::runner_orders_max + 1; ++index) {
    const std::string id = "job" + std::to_string(index);
    wanted.insert(id);
    (void)executor.submit(job(id));
  }
  const RunnerAnswer first = answer();
  ASSERT_EQ(first.orders.size(), limits::runner_orders_max);
  for (const RunnerOrder& order : first.orders) taken.push_back({order.job.id, "", false, false});
  report(taken);
  EXPECT_EQ(answer().orders.size(), 1U);
}

TEST_F(RunnerRegistryTest, AJobThatIsCanceledBeforeItsSubmitIsNeverOrdered) {  // N1
  report();
  EXPECT_TRUE(executor.cancel(job("a")));
  EXPECT_EQ(poll("a").value(), JobState::absent);
  EXPECT_TRUE(answer().empty());
}

}  // namespace
}  // namespace signalbox
