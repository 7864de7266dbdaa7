// Tests the steps of a job for every answer of its executor: it is submitted at most once, and
// never given up while it may be running.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "domain/limits.h"
#include "server/scheduler/job_step.h"

namespace signalbox {
namespace {

using Words = std::vector<std::string>;

// An executor with scripted answers that records its calls.
class ScriptedExecutor final : public Executor {
 public:
  Executed<std::string> submit(const Job&) override {
    asked.emplace_back("submit");
    if (submits.empty()) return "ref";
    const ExecutorError error = submits.front();
    submits.pop_front();
    return tl::unexpected(error);
  }
  Executed<JobState> poll(const Job&) override {
    asked.emplace_back("poll");
    return state;
  }
  Executed<JobResult> fetch_result(const Job&) override {
    asked.emplace_back("fetch");
    return JobResult{};
  }
  Executed<void> cancel(const Job&) override {
    asked.emplace_back("cancel");
    if (cancel_error) return tl::unexpected(*cancel_error);
    return {};
  }
  bool wake(const Job&) override {
    asked.emplace_back("wake");
    return is_ended_by_clean_up;
  }
  Executed<std::vector<std::int32_t>> clean_up_lost(const Job&) override {
    asked.emplace_back("clean up");
    return survivors;
  }
  void describe_lost(const Job&, JobResult& result) override {
    asked.emplace_back("describe");
    result.usage = {0, 7, 1};
  }

  Executed<std::string> learned_ref(const Job&) override { return learned; }

  std::string learned;
  std::deque<ExecutorError> submits;  // errors of the next submits
  std::optional<ExecutorError> cancel_error;
  std::vector<std::int32_t> survivors;
  bool is_ended_by_clean_up = true;
  JobState state = JobState::absent;
  Words asked;
};

class JobSteps : public ::testing::Test {
 protected:
  JobStep step(bool cancel_wanted = false, std::int64_t cancel_age_ms = 0) {
    return advance_job(executor, reports, progress, cancel_wanted, cancel_age_ms);
  }

  ScriptedExecutor executor;
  JobProgress progress;
  Words reported;
  std::string message;  // of the latest result
  JobReports reports{
      [this](const Job&, const std::string& ref) { reported.push_back("submitted " + ref); },
      [this](const Job&, const JobResult& result) {
        reported.push_back("finished " + result.failure.code);
        message = result.failure.message;
      },
      [this](const Job&, const ExecutorError& error) {
        reported.push_back("trouble " + error.code);
      }};
  const ExecutorError unheard{ErrorClass::transient, "UNHEARD", "no answer"};
};

TEST_F(JobSteps, LookBeforeTheySubmit) {  // S6
  executor.state = JobState::running;
  EXPECT_EQ(step(), JobStep::in_progress);
  EXPECT_EQ(executor.asked, Words{"poll"});
  executor.state = JobState::finished;
  EXPECT_EQ(step(), JobStep::over);
  EXPECT_EQ(executor.asked, (Words{"poll", "poll", "fetch"}));
}

TEST_F(JobSteps, SubmitWhatIsAbsent) {  // S6
  EXPECT_EQ(step(), JobStep::in_progress);
  EXPECT_EQ(reported, Words{"submitted ref"});
}

// The executor has it no more, such as a job that removes its own directory.
TEST_F(JobSteps, WhatWasSubmittedIsNotSubmittedAgain) {  // P3
  EXPECT_EQ(step(), JobStep::in_progress);
  EXPECT_EQ(step(), JobStep::over);
  EXPECT_EQ(reported, (Words{"submitted ref", "finished JOB_LOST"}));
  EXPECT_EQ(executor.asked, (Words{"poll", "submit", "poll", "clean up", "describe"}));
}

TEST_F(JobSteps, WhatWasSeenOrHasARefIsNotSubmittedAgain) {  // P3, G11
  executor.state = JobState::running;
  EXPECT_EQ(step(), JobStep::in_progress);
  executor.state = JobState::absent;
  EXPECT_EQ(step(), JobStep::over);
  progress = {};
  progress.job.external_ref = "ref";
  EXPECT_EQ(step(), JobStep::over);
  EXPECT_EQ(reported, (Words{"finished JOB_LOST", "finished JOB_LOST"}));
}

// It counts as running while its endpoint isn't asked again yet.
TEST_F(JobSteps, ARemoteJobWhoseSubmitMayHaveArrivedIsSubmittedOnceThatIsKnown) {  // S6
  progress.job.definition.executor = ExecutorKind::modal;
  progress.job.definition.modal.emplace().endpoint = "https://endpoint.example";
  executor.submits = {unheard};
  EXPECT_EQ(step(), JobStep::trouble);
  executor.state = JobState::running;
  EXPECT_EQ(step(), JobStep::in_progress);
  executor.state = JobState::absent;
  EXPECT_EQ(step(), JobStep::in_progress);
  EXPECT_EQ(reported, (Words{"trouble UNHEARD", "submitted ref"}));
}

// Each ref is reported once, and before the job's end, so that a later attempt can continue from
// it.
TEST_F(JobSteps, ALearnedRefIsToldBeforeTheEnd) {
  executor.state = JobState::running;
  EXPECT_EQ(step(), JobStep::in_progress);
  EXPECT_EQ(reported, Words{});
  executor.learned = "codex:1";
  EXPECT_EQ(step(), JobStep::in_progress);
  EXPECT_EQ(step(), JobStep::in_progress);
  EXPECT_EQ(reported, Words{"submitted codex:1"});
  executor.learned = "codex:2";
  executor.state = JobState::lost;
  EXPECT_EQ(step(), JobStep::over);
  EXPECT_EQ(reported, (Words{"submitted codex:1", "submitted codex:2", "finished JOB_LOST"}));
}

TEST_F(JobSteps, WhatALostJobHasUsedIsDeclared) {  // A5
  executor.state = JobState::lost;
  Usage used;
  const JobReports usage_reports{
      reports.submitted, [&used](const Job&, const JobResult& result) { used = result.usage; },
      reports.trouble};
  EXPECT_EQ(advance_job(executor, usage_reports, progress, false), JobStep::over);
  EXPECT_EQ(executor.asked, (Words{"poll", "clean up", "describe"}));
  EXPECT_EQ(used, (Usage{0, 7, 1}));
}

// Its result would be refused otherwise, which is an end for good.
TEST_F(JobSteps, OfManyProcessesThatALostJobHasLeftSomeAreNamed) {  // S11, P8
  executor.state = JobState::lost;
  executor.survivors.assign(limits::escaped_pids_max + 1, 4'000'000);
  JobResult found;
  const JobReports result_reports{reports.submitted,
                                  [&found](const Job&, const JobResult& result) { found = result; },
                                  reports.trouble};
  EXPECT_EQ(advance_job(executor, result_reports, progress, false), JobStep::over);
  EXPECT_LE(found.failure.message.size(), limits::reason_bytes_max);
  EXPECT_NE(found.failure.message.find(" 4000000, and 1009 more"), std::string::npos)
      << found.failure.message;
  EXPECT_EQ(found.escaped_pids.size(), limits::escaped_pids_max);
}

TEST_F(JobSteps, AFailedSubmitMayHaveStartedTheJob) {  // S6
  executor.submits = {unheard, unheard, unheard};
  for (int failed = 0; failed < 3; ++failed) EXPECT_EQ(step(), JobStep::trouble);
  EXPECT_EQ(reported, (Words{"trouble UNHEARD", "trouble UNHEARD", "trouble UNHEARD"}));
  // The third submit did reach the executor: a new attempt would run beside this job.
  executor.state = JobState::running;
  EXPECT_EQ(step(), JobStep::in_progress);
  EXPECT_EQ(executor.asked.back(), "poll");
}

TEST_F(JobSteps, WhatStaysAbsentIsGivenUp) {
  executor.submits = {unheard, unheard, unheard};
  for (int failed = 0; failed < 3; ++failed) EXPECT_EQ(step(), JobStep::trouble);
  EXPECT_EQ(step(), JobStep::over);
  EXPECT_EQ(reported.back(), "finished UNHEARD");
  EXPECT_EQ(std::count(executor.asked.begin(), executor.asked.end(), "submit"), 3);
}

TEST_F(JobSteps, WhatCantSucceedIsGivenUpAtOnce) {
  executor.submits = {{ErrorClass::config, "CONFIG_MISSING", "no such variable"}};
  EXPECT_EQ(step(), JobStep::over);
  EXPECT_EQ(reported, Words{"finished CONFIG_MISSING"});
}

TEST_F(JobSteps, ACanceledJobIsNeverSubmitted) {  // S6, S11
  EXPECT_EQ(step(true), JobStep::over);
  EXPECT_EQ(executor.asked, (Words{"cancel", "poll"}));
  EXPECT_EQ(reported, Words{"finished CANCELED"});
}

TEST_F(JobSteps, CancelIsSentOnceAndItsEndAwaited) {  // S11
  executor.state = JobState::running;
  EXPECT_EQ(step(true), JobStep::in_progress);
  EXPECT_EQ(step(true), JobStep::in_progress);
  EXPECT_EQ(executor.asked, (Words{"cancel", "poll", "poll"}));
}

// It is looked at all the same: it may have ended by itself.
TEST_F(JobSteps, ACancelThatFailsIsAskedAgainAndKeepsNoJobFromEnding) {  // S11
  executor.cancel_error = unheard;
  executor.state = JobState::running;
  EXPECT_EQ(step(true), JobStep::trouble);
  EXPECT_EQ(step(true), JobStep::trouble);
  executor.state = JobState::finished;
  EXPECT_EQ(step(true), JobStep::over);
  EXPECT_EQ(executor.asked, (Words{"cancel", "poll", "cancel", "poll", "cancel", "poll", "fetch"}));
  progress = {};
  executor.state = JobState::absent;
  EXPECT_EQ(step(true), JobStep::trouble) << "nothing is known of a job that isn't there";
}

TEST_F(JobSteps, AStuckJobIsWokenAndThenGivenUp) {  // S11, P11
  progress.job.definition.cancel_grace_ms = 1'000;
  executor.state = JobState::running;
  EXPECT_EQ(step(true, 5'999), JobStep::in_progress);
  EXPECT_EQ(executor.asked, (Words{"cancel", "poll"}));
  EXPECT_EQ(step(true, 6'000), JobStep::in_progress);
  EXPECT_EQ(step(true, 21'999), JobStep::in_progress);
  EXPECT_EQ(executor.asked, (Words{"cancel", "poll", "poll", "wake", "poll"}));
  EXPECT_EQ(step(true, 22'000), JobStep::over);
  EXPECT_EQ(executor.asked,
            (Words{"cancel", "poll", "poll", "wake", "poll", "poll", "clean up", "describe"}));
  EXPECT_EQ(reported, Words{"finished JOB_LOST"});
}

// One of another machine: only its executor knows when to give it up.
TEST_F(JobSteps, AStuckJobThatNobodyHereCanEndIsNotGivenUp) {  // N5
  executor.is_ended_by_clean_up = false;
  executor.state = JobState::running;
  EXPECT_EQ(step(true, 1'000'000), JobStep::in_progress);
  EXPECT_EQ(step(true, 2'000'000), JobStep::in_progress);
  EXPECT_EQ(executor.asked, (Words{"cancel", "poll", "wake", "poll"}));
}

// The name of a run root is nearly as long as a message may be. A longer one would be refused, and
// with it the failure, which may be tried again.
TEST_F(JobSteps, WhyASubmitFailedIsCutToFit) {  // P8
  const std::string root(limits::path_bytes_max, 'r');
  const ExecutorError error{ErrorClass::transient, "NO_ROOM", "can't make /" + root + ": no space"};
  executor.submits = {error, error, error};
  while (step() != JobStep::over) {
  }
  EXPECT_EQ(reported.back(), "finished NO_ROOM");
  EXPECT_LE(message.size(), limits::reason_bytes_max);
  EXPECT_TRUE(message.starts_with("can't make /rrr")) << message;
}

}  // namespace
}  // namespace signalbox
