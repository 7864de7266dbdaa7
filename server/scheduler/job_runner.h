// Carries jobs from intent to result, in the same way for a new job and for one that was found
// after a crash. JobReports receives the progress.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "server/platform/lane_pool.h"
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
  // Takes the next step of a tracked job soon, because something about it is new.
  virtual void look_again(const std::string& /*job_id*/) {}
};

// Takes the steps of jobs in lanes: a job of this machine has a lane of its own, and remote jobs
// (executor_set.h) share their endpoint's. So an endpoint or a disk that hangs delays no other job.
// The calls for one job never overlap. Reports are called on the pools' threads.
class JobThreads final : public JobRunner {
 public:
  // The pools outlive this object, and are stopped before it is destroyed.
  JobThreads(Executor& executor, JobReports reports, LanePool& local, LanePool& remote);
  ~JobThreads() override;

  void track(Job job) override;
  void cancel(const std::string& job_id) override;
  void look_again(const std::string& job_id) override;

 private:
  struct Tracked;

  void run();
  void take_step(const std::shared_ptr<Tracked>& tracked);
  // Makes the next step of the job due. Requires mutex_.
  void step_now(const std::shared_ptr<Tracked>& tracked);
  // Blocks until a job is due, and returns it as one in a step; nullptr when this object is
  // destroyed.
  std::shared_ptr<Tracked> wait_for_due(std::unique_lock<std::mutex>& lock);

  Executor& executor_;
  const JobReports reports_;
  LanePool& local_;
  LanePool& remote_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::unordered_map<std::string, std::shared_ptr<Tracked>> jobs_;
  // Those that are in no step, by the time of the next one: there may be thousands.
  std::set<std::pair<std::chrono::steady_clock::time_point, std::shared_ptr<Tracked>>> waiting_;
  bool stopping_ = false;
  std::thread thread_;  // gives the lanes the jobs that are due
};

}  // namespace signalbox
