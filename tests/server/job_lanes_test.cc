// Tests that an endpoint or a disk that hangs delays the jobs of no other. G6
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <set>
#include <string>

#include "server/platform/call_bounds.h"
#include "server/scheduler/job_runner.h"
#include "tests/eventually.h"

namespace signalbox {
namespace {

// Calls for a job with "hung" in its id don't return until the test opens the gate.
class PartlyHangingExecutor final : public Executor {
 public:
  Executed<std::string> submit(const Job& job) override { return job.id; }
  Executed<JobState> poll(const Job& job) override {
    if (job.id.find("hung") != std::string::npos) wait();
    return JobState::finished;
  }
  Executed<JobResult> fetch_result(const Job&) override { return JobResult{}; }
  Executed<void> cancel(const Job&) override { return {}; }
  Executed<std::vector<std::int32_t>> clean_up_lost(const Job&) override {
    return std::vector<std::int32_t>{};
  }

  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    opened_.notify_all();
  }
  [[nodiscard]] int hanging() const { return hanging_; }

 private:
  void wait() {
    std::unique_lock lock(mutex_);
    ++hanging_;
    opened_.wait(lock, [this] { return open_; });
    --hanging_;
  }

  std::mutex mutex_;
  std::condition_variable opened_;
  bool open_ = false;
  std::atomic<int> hanging_ = 0;
};

Job local_job(const std::string& id) {
  Job job;
  job.id = id;
  job.definition.executor = ExecutorKind::process;
  return job;
}

Job remote_job(const std::string& id, const std::string& endpoint) {
  Job job;
  job.id = id;
  job.definition.executor = ExecutorKind::modal;
  job.definition.modal.emplace().endpoint = endpoint;
  return job;
}

TEST(JobLanes, WhatHangsDelaysTheJobsOfNoOther) {  // G6
  const LanePool::Bounds bounds{.working_max = 2,
                                .threads_max = 16,
                                .lane_working_max = 2,
                                .lane_waiting_max = 64,
                                .hang_ms = 1};
  std::mutex mutex;
  std::set<std::string> finished;
  const auto has_finished = [&](const std::string& id) {
    const std::lock_guard lock(mutex);
    return finished.contains(id);
  };
  PartlyHangingExecutor executor;
  LanePool local(bounds);
  LanePool remote(bounds);
  JobReports reports;
  reports.submitted = [](const Job&, const std::string&) {};
  reports.trouble = [](const Job&, const ExecutorError&) {};
  reports.finished = [&](const Job& job, const JobResult&) {
    const std::lock_guard lock(mutex);
    finished.insert(job.id);
  };
  JobThreads jobs(executor, reports, local, remote);
  for (int number = 0; number < 3; ++number) {
    jobs.track(local_job("hung-local-" + std::to_string(number)));
    jobs.track(remote_job("hung-remote-" + std::to_string(number), "https://slow.example"));
  }
  ASSERT_TRUE(eventually([&] { return executor.hanging() == 5; }))
      << "three of this machine, two of the endpoint";
  for (int number = 0; number < 20; ++number) {
    jobs.track(local_job("local-" + std::to_string(number)));
    jobs.track(remote_job("remote-" + std::to_string(number), "https://quick.example"));
  }
  for (int number = 0; number < 20; ++number) {
    EXPECT_TRUE(eventually([&] { return has_finished("local-" + std::to_string(number)); }));
    EXPECT_TRUE(eventually([&] { return has_finished("remote-" + std::to_string(number)); }));
  }
  EXPECT_EQ(executor.hanging(), 5) << "the third of the endpoint waits for the others";
  executor.open();
  EXPECT_TRUE(eventually([&] { return has_finished("hung-remote-2"); }));
  local.stop(CallBounds::never_ms);
  remote.stop(CallBounds::never_ms);
}

// Its first poll ends only if the work of its thread is canceled.
class InterruptibleExecutor final : public Executor {
 public:
  Executed<std::string> submit(const Job& job) override { return job.id; }
  Executed<JobState> poll(const Job&) override {
    if (is_canceled) return JobState::finished;
    is_polling = true;
    if (!eventually([] { return CallBounds::is_canceled(); })) return JobState::lost;
    return tl::unexpected(ExecutorError{ErrorClass::transient, "INTERRUPTED", "it was canceled"});
  }
  Executed<JobResult> fetch_result(const Job&) override { return JobResult{}; }
  Executed<void> cancel(const Job&) override {
    EXPECT_FALSE(CallBounds::is_canceled()) << "the cancel itself is to arrive";
    is_canceled = true;
    return {};
  }
  Executed<std::vector<std::int32_t>> clean_up_lost(const Job&) override {
    return std::vector<std::int32_t>{};
  }

  std::atomic<bool> is_polling = false;
  std::atomic<bool> is_canceled = false;
};

TEST(JobLanes, ARequestThatHangsDoesNotHoldUpACancel) {  // S8
  const LanePool::Bounds bounds{.working_max = 2,
                                .threads_max = 4,
                                .lane_working_max = 2,
                                .lane_waiting_max = 64,
                                .hang_ms = 1000};
  InterruptibleExecutor executor;
  LanePool local(bounds);
  LanePool remote(bounds);
  std::atomic<bool> is_over = false;
  JobReports reports;
  reports.submitted = [](const Job&, const std::string&) {};
  reports.trouble = [](const Job&, const ExecutorError&) {};
  reports.finished = [&](const Job&, const JobResult& result) {
    EXPECT_NE(result.failure.code, "JOB_LOST") << "the poll wasn't interrupted";
    is_over = true;
  };
  JobThreads jobs(executor, reports, local, remote);
  jobs.track(remote_job("one", "https://slow.example"));
  ASSERT_TRUE(eventually([&] { return executor.is_polling.load(); }));
  jobs.cancel("one");
  EXPECT_TRUE(eventually([&] { return is_over.load(); }));
  EXPECT_TRUE(executor.is_canceled);
  local.stop(CallBounds::never_ms);
  remote.stop(CallBounds::never_ms);
}

}  // namespace
}  // namespace signalbox
