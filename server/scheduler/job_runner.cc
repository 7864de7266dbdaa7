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
  SteadyClock::time_point cancel_wanted_at;
  bool is_news = false;                   // step_now() was called during the step under way
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
    if (jobs_.contains(job.id)) return;
    const auto tracked = std::make_shared<Tracked>(std::move(job));
    jobs_.emplace(tracked->progress.job.id, tracked);
    waiting_.emplace(tracked->next, tracked);
  }
  changed_.notify_one();
}

void JobThreads::cancel(const std::string& job_id) {
  {
    const std::lock_guard lock(mutex_);
    const auto place = jobs_.find(job_id);
    if (place == jobs_.end()) return;
    // A request that hangs would hold the cancel up; what became of it is looked up.
    if (!place->second->cancel_wanted) {
      place->second->interrupted = place->second->in_step;
      place->second->cancel_wanted_at = SteadyClock::now();
    }
    place->second->cancel_wanted = true;
    step_now(place->second);
  }
  changed_.notify_one();
}

void JobThreads::look_again(const std::string& job_id) {
  {
    const std::lock_guard lock(mutex_);
    const auto place = jobs_.find(job_id);
    if (place == jobs_.end()) return;
    step_now(place->second);
  }
  changed_.notify_one();
}

void JobThreads::step_now(const std::shared_ptr<Tracked>& tracked) {
  tracked->pause = poll_pause_min;
  tracked->is_news = tracked->in_step;
  if (tracked->in_step) return;
  waiting_.erase({tracked->next, tracked});
  tracked->next = SteadyClock::now();
  waiting_.emplace(tracked->next, tracked);
}

void JobThreads::run() {
  for (;;) {
    std::shared_ptr<Tracked> due;
    {
      std::unique_lock lock(mutex_);
      due = wait_for_due(lock);
      if (due == nullptr) return;
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
  std::chrono::milliseconds cancel_age{0};
  {
    const std::lock_guard lock(mutex_);
    cancel = tracked->cancel_wanted;
    if (cancel) {
      tracked->interrupted = false;
      cancel_age = std::chrono::duration_cast<std::chrono::milliseconds>(SteadyClock::now() -
                                                                         tracked->cancel_wanted_at);
    }
  }
  const bool is_interruptible = is_remote(tracked->progress.job.definition);
  const CallBounds bounds(CallBounds::never_ms, is_interruptible ? &tracked->interrupted : nullptr);
  const JobStep step =
      advance_job(executor_, reports_, tracked->progress, cancel, cancel_age.count());
  {
    const std::lock_guard lock(mutex_);
    tracked->in_step = false;
    if (step == JobStep::over) {
      jobs_.erase(tracked->progress.job.id);
      return;
    }
    tracked->next = SteadyClock::now();
    if (!std::exchange(tracked->is_news, false)) {
      if (step == JobStep::trouble) tracked->pause = trouble_pause;
      tracked->next += tracked->pause;
      const auto longest = std::max<std::chrono::milliseconds>(
          poll_pause_max, poll_pause_per_job * static_cast<std::int64_t>(jobs_.size()));
      tracked->pause = std::min(tracked->pause * 3 / 2, longest);
    }
    waiting_.emplace(tracked->next, tracked);
  }
  changed_.notify_one();
}

std::shared_ptr<JobThreads::Tracked> JobThreads::wait_for_due(std::unique_lock<std::mutex>& lock) {
  for (;;) {
    if (stopping_) return nullptr;
    if (waiting_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const auto [time, first] = *waiting_.begin();
    if (time > SteadyClock::now()) {
      changed_.wait_until(lock, time);
      continue;
    }
    waiting_.erase(waiting_.begin());
    first->in_step = true;
    return first;
  }
}

}  // namespace signalbox
