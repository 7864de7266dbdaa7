#include "server/scheduler/job_runner.h"

#include <atomic>
#include <chrono>
#include <utility>

#include "domain/pipeline.h"
#include "server/platform/call_bounds.h"

namespace signalbox {
namespace {

using SteadyClock = std::chrono::steady_clock;

// The interval between two polls of a job. It grows, because a new job may end at once, but a long
// one needn't be polled often.
constexpr std::chrono::milliseconds poll_pause_min{10};
constexpr std::chrono::milliseconds poll_pause_max{200};
// With many jobs the interval is longer, so that all together are polled at most 500 times a
// second.
constexpr std::chrono::milliseconds poll_pause_per_job{2};
// The interval after the executor couldn't be reached.
constexpr std::chrono::seconds trouble_pause{1};

}  // namespace

struct JobThreads::Tracked {
  explicit Tracked(Job job) { progress.job = std::move(job); }

  JobProgress progress;
  bool in_step = false;
  bool cancel_wanted = false;
  bool is_news = false;                   // look_again() was called during the step under way
  std::atomic<bool> interrupted = false;  // the step under way is to end; read on its thread
  std::chrono::milliseconds pause = poll_pause_min;
  SteadyClock::time_point next = SteadyClock::now();
};

JobThreads::JobThreads(Executor& executor, JobReports reports, LanePool& local, LanePool& remote)
    : executor_(executor),
      reports_(std::move(reports)),
      local_(local),
      remote_(remote),
      thread_([this] { run(); }) {}

JobThreads::~JobThreads() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void JobThreads::track(Job job) {
  {
    const std::lock_guard lock(mutex_);
    const std::string id = job.id;
    jobs_.try_emplace(id, std::make_shared<Tracked>(std::move(job)));
  }
  changed_.notify_one();
}

void JobThreads::cancel(const std::string& job_id) {
  {
    const std::lock_guard lock(mutex_);
    const auto place = jobs_.find(job_id);
    if (place == jobs_.end()) return;
    // A request that hangs would hold the cancel up; what became of it is looked up.
    if (!place->second->cancel_wanted) place->second->interrupted = place->second->in_step;
    place->second->cancel_wanted = true;
    place->second->next = SteadyClock::now();
    place->second->pause = poll_pause_min;
  }
  changed_.notify_one();
}

void JobThreads::look_again(const std::string& job_id) {
  {
    const std::lock_guard lock(mutex_);
    const auto place = jobs_.find(job_id);
    if (place == jobs_.end()) return;
    place->second->next = SteadyClock::now();
    place->second->pause = poll_pause_min;
    place->second->is_news = place->second->in_step;
  }
  changed_.notify_one();
}

void JobThreads::run() {
  for (;;) {
    std::shared_ptr<Tracked> due;
    {
      std::unique_lock lock(mutex_);
      due = wait_for_due(lock);
      if (due == nullptr) return;
      due->in_step = true;
    }
    const Job& job = due->progress.job;
    if (is_remote(job.definition)) {
      remote_.run({.name = "endpoint " + job.definition.modal->endpoint},
                  [this, due] { take_step(due); });
    } else {
      local_.run({.name = "job " + job.id}, [this, due] { take_step(due); });
    }
  }
}

void JobThreads::take_step(const std::shared_ptr<Tracked>& tracked) {
  bool cancel = false;
  {
    const std::lock_guard lock(mutex_);
    cancel = tracked->cancel_wanted;
    if (cancel) tracked->interrupted = false;
  }
  const bool is_interruptible = is_remote(tracked->progress.job.definition);
  const CallBounds bounds(CallBounds::never_ms, is_interruptible ? &tracked->interrupted : nullptr);
  const JobStep step = advance_job(executor_, reports_, tracked->progress, cancel);
  {
    const std::lock_guard lock(mutex_);
    tracked->in_step = false;
    if (step == JobStep::over) {
      jobs_.erase(tracked->progress.job.id);
    } else if (tracked->cancel_wanted == cancel) {  // else: cancel() has made it due at once
      if (step == JobStep::trouble) tracked->pause = trouble_pause;
      tracked->next = SteadyClock::now();
      if (!std::exchange(tracked->is_news, false)) tracked->next += tracked->pause;
      const auto longest = std::max<std::chrono::milliseconds>(
          poll_pause_max, poll_pause_per_job * static_cast<std::int64_t>(jobs_.size()));
      tracked->pause = std::min(tracked->pause * 3 / 2, longest);
    }
  }
  changed_.notify_one();
}

std::shared_ptr<JobThreads::Tracked> JobThreads::wait_for_due(std::unique_lock<std::mutex>& lock) {
  for (;;) {
    if (stopping_) return nullptr;
    std::shared_ptr<Tracked> first;
    for (const auto& [id, tracked] : jobs_) {
      if (tracked->in_step) continue;
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

}  // namespace signalbox
