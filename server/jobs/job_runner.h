// Carries jobs from intent to result: looks each up, submits it if it isn't there, polls it,
// fetches its result, cancels it. The same way for a job decided a moment ago and for one that a
// crash left.
//
// A few threads, each with its own jobs (by a hash of the id), so that one job's calls never
// overlap. What happened is reported through Reports, on those threads.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "server/executors/executor.h"

namespace signalbox {

class JobRunner {
 public:
  struct Reports {
    // The executor's own id of the job is known.
    std::function<void(const Job& job, const std::string& external_ref)> submitted;
    // The job is over. `canceled` results mean that nothing of it is left but escaped_pids.
    std::function<void(const Job& job, const JobResult& result)> finished;
    // The executor couldn't be asked; it is asked again.
    std::function<void(const Job& job, const ExecutorError& error)> trouble;
  };

  JobRunner(Executor& executor, Reports reports, std::size_t threads);
  ~JobRunner();
  JobRunner(const JobRunner&) = delete;
  JobRunner& operator=(const JobRunner&) = delete;

  // Takes care of the job until it is reported as finished. Again for the same job: no change.
  void track(Job job);
  // Ends a tracked job. One that was never submitted won't be.
  void cancel(const std::string& job_id);

 private:
  struct Tracked;
  class Lane;

  Lane& lane_of(const std::string& job_id);

  Reports reports_;  // before the lanes, which use it
  std::vector<std::unique_ptr<Lane>> lanes_;
};

}  // namespace signalbox
