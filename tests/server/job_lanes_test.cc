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

}  // namespace
}  // namespace signalbox
