// Carries jobs from intent to result, in the same way for a new job and for one that was found
// after a crash. JobReports receives the progress.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "server/scheduler/job_step.h"

namespace signalbox {

class JobRunner {
 public:
  JobRunner() = default;
  JobRunner(const JobRunner&) = delete;
  JobRunner& operator=(const JobRunner&) = delete;
  virtual ~JobRunner() = default;

  // Drives the job until it is reported as finished. Does nothing if the job is tracked already.
  virtual void track(Job job) = 0;
  // Ends a tracked job. A job that wasn't submitted yet is never submitted.
  virtual void cancel(const std::string& job_id) = 0;
};

// Numbers of threads.
struct JobLanes {
  std::size_t local = 2;
  std::size_t remote = 4;  // separate, so that a slow endpoint delays no local job
};

// Runs jobs on a fixed number of threads. A hash of the job's id selects its thread, so that the
// calls for one job never overlap; remote jobs (executor_set.h) have threads of their own. Reports
// are called on these threads. The destructor blocks until each thread has ended its current step.
class JobThreads final : public JobRunner {
 public:
  JobThreads(Executor& executor, JobReports reports, JobLanes lanes);
  ~JobThreads() override;

  void track(Job job) override;
  void cancel(const std::string& job_id) override;

 private:
  struct Tracked;
  class Lane;

  using Lanes = std::vector<std::unique_ptr<Lane>>;

  static Lane& lane_of(Lanes& lanes, const std::string& job_id);

  JobReports reports_;  // declared before the lanes, which use it
  Lanes local_;
  Lanes remote_;
};

}  // namespace signalbox
