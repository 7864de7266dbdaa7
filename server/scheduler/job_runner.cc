#include "server/scheduler/job_runner.h"

#include <chrono>
#include <utility>

#include "domain/remote_work.h"

namespace signalbox {
namespace {

using SteadyClock = std::chrono::steady_clock;

// The interval between two polls of a job. It grows, because a new job may end at once, but a long
// one needn't be polled often.
constexpr std::chrono::milliseconds poll_pause_min{10};
constexpr std::chrono::milliseconds poll_pause_max{200};
// With many jobs the interval is longer, so that a thread polls at most 500 times a second.
constexpr std::chrono::milliseconds poll_pause_per_job{2};
// The interval after the executor couldn't be reached.
constexpr std::chrono::seconds trouble_pause{1};

}  // namespace

struct JobThreads::Tracked {
  explicit Tracked(Job job) { progress.job = std::move(job); }

  JobProgress progress;
  bool cancel_wanted = false;
  std::chrono::milliseconds pause = poll_pause_min;
  SteadyClock::time_point next = SteadyClock::now();
};

// One thread and its jobs.
class JobThreads::Lane {
 public:
  Lane(Executor& executor, const JobReports& reports)
      : executor_(executor), reports_(reports), thread_([this] { run(); }) {}

  ~Lane() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }

  void track(Job job) {
    {
      const std::lock_guard lock(mutex_);
      const std::string id = job.id;
      jobs_.try_emplace(id, std::make_shared<Tracked>(std::move(job)));
    }
    changed_.notify_one();
  }

  void cancel(const std::string& job_id) {
    {
      const std::lock_guard lock(mutex_);
      const auto place = jobs_.find(job_id);
      if (place == jobs_.end()) return;
      place->second->cancel_wanted = true;
      place->second->next = SteadyClock::now();
      place->second->pause = poll_pause_min;
    }
    changed_.notify_one();
  }

 private:
  void run() {
    for (;;) {
      std::shared_ptr<Tracked> due;
      bool cancel = false;
      {
        std::unique_lock lock(mutex_);
        due = wait_for_due(lock);
        if (due == nullptr) return;
        cancel = due->cancel_wanted;
      }
      const JobStep step = advance_job(executor_, reports_, due->progress, cancel);
      const std::lock_guard lock(mutex_);
      if (step == JobStep::over) {
        jobs_.erase(due->progress.job.id);
      } else if (due->cancel_wanted == cancel) {  // else: cancel() has made it due at once
        if (step == JobStep::trouble) due->pause = trouble_pause;
        due->next = SteadyClock::now() + due->pause;
        const auto longest = std::max<std::chrono::milliseconds>(
            poll_pause_max, poll_pause_per_job * static_cast<std::int64_t>(jobs_.size()));
        due->pause = std::min(due->pause * 3 / 2, longest);
      }
    }
  }

  // Blocks until a job is due and returns it; nullptr when the lane stops.
  std::shared_ptr<Tracked> wait_for_due(std::unique_lock<std::mutex>& lock) {
    for (;;) {
      if (stopping_) return nullptr;
      std::shared_ptr<Tracked> first;
      for (const auto& [id, tracked] : jobs_) {
        if (first == nullptr || tracked->next < first->next) first = tracked;
      }
      if (first == nullptr) {
        changed_.wait(lock);
      } else if (first->next <= SteadyClock::now()) {
        return first;
      } else {
        changed_.wait_until(lock, first->next);
      }
    }
  }

  Executor& executor_;
  const JobReports& reports_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::unordered_map<std::string, std::shared_ptr<Tracked>> jobs_;
  bool stopping_ = false;
  std::thread thread_;
};

JobThreads::JobThreads(Executor& executor, JobReports reports, JobLanes lanes)
    : reports_(std::move(reports)) {
  while (local_.size() < lanes.local) local_.push_back(std::make_unique<Lane>(executor, reports_));
  while (remote_.size() < lanes.remote) {
    remote_.push_back(std::make_unique<Lane>(executor, reports_));
  }
}

JobThreads::~JobThreads() = default;

JobThreads::Lane& JobThreads::lane_of(Lanes& lanes, const std::string& job_id) {
  return *lanes[std::hash<std::string>{}(job_id) % lanes.size()];
}

void JobThreads::track(Job job) {
  Lane& lane = lane_of(is_remote(job.definition) ? remote_ : local_, job.id);
  lane.track(std::move(job));
}

// The job may be in either group of lanes; a lane that doesn't track it does nothing.
void JobThreads::cancel(const std::string& job_id) {
  lane_of(local_, job_id).cancel(job_id);
  lane_of(remote_, job_id).cancel(job_id);
}

}  // namespace signalbox
