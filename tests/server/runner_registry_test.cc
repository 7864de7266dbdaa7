// What the service knows of its runners: their leases, and how the jobs that they were given are.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "domain/nanoseconds.h"
#include "server/limits.h"
#include "server/runners/runner_executor.h"
#include "server/runners/runner_registry.h"
#include "server/runners/runner_wait.h"

namespace signalbox {
namespace {

using Names = std::vector<std::string>;

const std::string one = runner_id("one", "0123456789abcdef");

class RunnerRegistryTest : public ::testing::Test {
 protected:
  static Job job(const std::string& id) {
    Job job;
    job.id = id;
    job.machine = one;
    job.token = 5;
    return job;
  }
  RunnerReport report_of(const std::vector<RunnerJobReport>& jobs = {}) {
    RunnerReport report;
    report.runner = one;
    report.start = start;
    report.number = ++number;
    report.labels = {"gpu"};
    report.slots = 2;
    report.lease_ms = limits::runner_lease_ms_min;
    report.jobs = jobs;
    return report;
  }
  RunnerRegistry::ReportNews news_of(const std::vector<RunnerJobReport>& jobs) {
    const auto news = registry.report(report_of(jobs), now_ns);
    EXPECT_TRUE(news);
    return news.value_or(RunnerRegistry::ReportNews{});
  }
  bool report(const std::vector<RunnerJobReport>& jobs = {}) { return news_of(jobs).offers; }
  RunnerAnswer answer() { return registry.answer(one, is_wanted); }
  // Lets time pass as the service does, which sweeps each second.
  bool pass(std::int64_t ms) {
    bool changed = false;
    for (; ms > 0; ms -= 1000) {
      now_ns += std::min<std::int64_t>(ms, 1000) * ns_per_ms;
      changed = registry.sweep(now_ns, is_wanted) || changed;
    }
    return changed;
  }
  Executed<JobState> poll(const std::string& id) { return executor.poll(job(id)); }

  std::int64_t now_ns = 1'000 * ns_per_s;
  std::int64_t start = 1;
  std::int64_t number = 0;
  std::set<std::string> wanted{"a", "b"};
  Names woken;
  RunnerRegistry::IsWanted is_wanted = [this](const std::string& runner, const std::string& id) {
    return runner == one && wanted.contains(id);
  };
  RunnerRegistry registry{now_ns, [this](const std::string& runner) { woken.push_back(runner); }};
  RunnerExecutor executor{{[](const std::string& id) { return "secret of " + id; }}, registry};
};

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

// What `run why` says of a run that asks for labels.
TEST(RunnerWaits, NameWhatIsMissing) {  // N3
  StationDefinition station;
  station.name = "a";
  station.executor = ExecutorKind::process;
  station.environment = {variable_of_label("gpu"), variable_of_label("linux")};
  signalbox::Run run;
  run.pipeline = std::make_shared<const PipelineDefinition>(PipelineDefinition{"p", {station}});
  run.stations.resize(1);
  std::vector<RunnerView> runners(2);
  runners[0] = {one, RunnerState::connected, false, {"gpu"}, {}, 2, 60'000, 0, {}, {}};
  EXPECT_EQ(why_no_runner(run, runners).text, "no runner has the label linux");
  runners[1] = {"runner:two-1", RunnerState::connected, false, {"linux"}, {}, 2, 60'000, 0, {}, {}};
  EXPECT_EQ(why_no_runner(run, runners).text, "no runner has all of the labels gpu, linux");
  runners[1].labels.emplace_back("gpu");
  EXPECT_EQ(why_no_runner(run, runners).text, "all slots of the runners that suit it are taken");
  run.repository = "/srv/app";
  EXPECT_EQ(why_no_runner(run, runners).text,
            "no runner with the labels gpu, linux has the repository /srv/app");
  run.machine = one;
  EXPECT_EQ(why_no_runner(run, runners).text,
            "its workspace is at " + one + ", all of whose slots are taken");
  runners[0].drains = true;
  runners[1].drains = true;
  {
    signalbox::Run free = run;
    free.machine.clear();
    free.repository.clear();
    EXPECT_EQ(why_no_runner(free, runners).text,
              "the runners that suit it take no new jobs: runner:two-1");
    EXPECT_EQ(why_no_runner(free, runners).unblocked_by,
              "`signalbox runner drain --off runner:two-1`");
  }
  EXPECT_EQ(why_no_runner(run, runners).text,
            "its workspace is at " + one + ", which takes no new jobs");
  runners[0].state = RunnerState::lost;
  EXPECT_NE(why_no_runner(run, runners).unblocked_by.find("runner evict " + one),
            std::string::npos);
  runners[0].state = RunnerState::evicted;
  run.current = 1;
  run.stations.resize(2);
  run.pipeline =
      std::make_shared<const PipelineDefinition>(PipelineDefinition{"p", {station, station}});
  EXPECT_EQ(why_no_runner(run, runners).text, "its worktree was at " + one + ", which was evicted");
  run.machine = "0123";
  EXPECT_EQ(why_no_runner(run, runners).text, "") << "it stays with the service";
}

}  // namespace
}  // namespace signalbox
