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

#include "server/jobs/job_step.h"

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

// A few threads, each with its own jobs (by a hash of the id), so that one job's calls never
// overlap. The reports come on those threads.
class JobThreads final : public JobRunner {
 public:
  JobThreads(Executor& executor, JobReports reports, std::size_t threads);
  ~JobThreads() override;

  void track(Job job) override;
  void cancel(const std::string& job_id) override;

 private:
  struct Tracked;
  class Lane;

  Lane& lane_of(const std::string& job_id);

  JobReports reports_;  // before the lanes, which use it
  std::vector<std::unique_ptr<Lane>> lanes_;
};

}  // namespace signalbox
