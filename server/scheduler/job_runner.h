// Carries jobs from intent to result: the same way for a job decided a moment ago and for one that
// a crash left. What happened is reported through JobReports.
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

  // Takes care of the job until it is reported as finished. Again for the same job: no change.
  virtual void track(Job job) = 0;
  // Ends a tracked job. One that was never submitted won't be.
  virtual void cancel(const std::string& job_id) = 0;
};

struct JobLanes {
  std::size_t local = 2;
  std::size_t remote = 4;  // a slow endpoint holds up no local job
};

// A few threads, each with its own jobs (by a hash of the id), so that one job's calls never
// overlap; remote jobs (executor_set.h) have threads of their own. The reports come on those
// threads.
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

  JobReports reports_;  // before the lanes, which use it
  Lanes local_;
  Lanes remote_;
};

}  // namespace signalbox
