// A job's steps, whatever its executor answers: submitted at most once, and never given up while it
// may be running.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "server/scheduler/job_step.h"

namespace signalbox {
namespace {

using Words = std::vector<std::string>;

// Answers as the test has it, and keeps what was asked.
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
    return {};
  }
  Executed<std::vector<std::int32_t>> clean_up_lost(const Job&) override {
    asked.emplace_back("clean up");
    return std::vector<std::int32_t>{};
  }

  Executed<std::string> learned_ref(const Job&) override { return learned; }

  std::string learned;
  std::deque<ExecutorError> submits;  // what the next submits fail with
  JobState state = JobState::absent;
  Words asked;
};

class JobSteps : public ::testing::Test {
 protected:
  JobStep step(bool cancel_wanted = false) {
    return take_step(executor, reports, progress, cancel_wanted);
  }

  ScriptedExecutor executor;
  JobProgress progress;
  Words told;
  JobReports reports{
      [this](const Job&, const std::string& ref) { told.push_back("submitted " + ref); },
      [this](const Job&, const JobResult& result) {
        told.push_back("finished " + result.failure.code);
      },
      [this](const Job&, const ExecutorError& error) { told.push_back("trouble " + error.code); }};
  const ExecutorError unheard{ErrorClass::transient, "UNHEARD", "no answer"};
};

TEST_F(JobSteps, LookBeforeTheySubmit) {  // S6
  executor.state = JobState::running;
  EXPECT_EQ(step(), JobStep::going_on);
  EXPECT_EQ(executor.asked, Words{"poll"});
  executor.state = JobState::finished;
  EXPECT_EQ(step(), JobStep::over);
  EXPECT_EQ(executor.asked, (Words{"poll", "poll", "fetch"}));
}

TEST_F(JobSteps, SubmitWhatIsAbsent) {  // S6
  EXPECT_EQ(step(), JobStep::going_on);
  EXPECT_EQ(told, Words{"submitted ref"});
}

// Once each, and before the end, so that what follows it can go on from there.
TEST_F(JobSteps, ALearnedRefIsToldBeforeTheEnd) {
  executor.state = JobState::running;
  EXPECT_EQ(step(), JobStep::going_on);
  EXPECT_EQ(told, Words{});
  executor.learned = "codex:1";
  EXPECT_EQ(step(), JobStep::going_on);
  EXPECT_EQ(step(), JobStep::going_on);
  EXPECT_EQ(told, Words{"submitted codex:1"});
  executor.learned = "codex:2";
  executor.state = JobState::lost;
  EXPECT_EQ(step(), JobStep::over);
  EXPECT_EQ(told, (Words{"submitted codex:1", "submitted codex:2", "finished JOB_LOST"}));
}

TEST_F(JobSteps, AFailedSubmitMayHaveStartedTheJob) {  // S6
  executor.submits = {unheard, unheard, unheard};
  for (int failed = 0; failed < 3; ++failed) EXPECT_EQ(step(), JobStep::trouble);
  EXPECT_EQ(told, (Words{"trouble UNHEARD", "trouble UNHEARD", "trouble UNHEARD"}));
  // The third one was heard after all: a new attempt beside this job would be one too many.
  executor.state = JobState::running;
  EXPECT_EQ(step(), JobStep::going_on);
  EXPECT_EQ(executor.asked.back(), "poll");
}

TEST_F(JobSteps, WhatStaysAbsentIsGivenUp) {
  executor.submits = {unheard, unheard, unheard};
  for (int failed = 0; failed < 3; ++failed) EXPECT_EQ(step(), JobStep::trouble);
  EXPECT_EQ(step(), JobStep::over);
  EXPECT_EQ(told.back(), "finished UNHEARD");
  EXPECT_EQ(std::count(executor.asked.begin(), executor.asked.end(), "submit"), 3);
}

TEST_F(JobSteps, WhatCantSucceedIsGivenUpAtOnce) {
  executor.submits = {{ErrorClass::config, "CONFIG_MISSING", "no such variable"}};
  EXPECT_EQ(step(), JobStep::over);
  EXPECT_EQ(told, Words{"finished CONFIG_MISSING"});
}

TEST_F(JobSteps, ACanceledJobIsNeverSubmitted) {  // S6, S11
  EXPECT_EQ(step(true), JobStep::over);
  EXPECT_EQ(executor.asked, (Words{"cancel", "poll"}));
  EXPECT_EQ(told, Words{"finished CANCELED"});
}

TEST_F(JobSteps, CancelIsSentOnceAndItsEndAwaited) {  // S11
  executor.state = JobState::running;
  EXPECT_EQ(step(true), JobStep::going_on);
  EXPECT_EQ(step(true), JobStep::going_on);
  EXPECT_EQ(executor.asked, (Words{"cancel", "poll", "poll"}));
}

}  // namespace
}  // namespace signalbox
