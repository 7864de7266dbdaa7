#include "server/jobs/job_runner.h"

#include <chrono>
#include <utility>

namespace signalbox {
namespace {

using SteadyClock = std::chrono::steady_clock;

// A job that has just begun may end at once; one that runs for long isn't asked often.
constexpr std::chrono::milliseconds poll_pause_min{10};
constexpr std::chrono::milliseconds poll_pause_max{200};
constexpr std::chrono::seconds trouble_pause{1};
constexpr int submits_max = 3;

JobResult lost_result(const std::vector<std::int32_t>& survivors) {
  JobResult result;
  result.failure = {Outcome::failed, ErrorClass::lost, "JOB_LOST",
                    "the job's supervisor is gone and left no result"};
  if (!survivors.empty()) {
    result.failure.message += "; these of its processes would not end:";
    for (const std::int32_t pid : survivors) result.failure.message += ' ' + std::to_string(pid);
  }
  result.escaped_pids = survivors;
  return result;
}

JobResult failed_submit(const ExecutorError& error) {
  JobResult result;
  result.failure = {Outcome::failed, error.error_class, error.code, error.message};
  return result;
}

}  // namespace

struct JobRunner::Tracked {
  Job job;
  bool cancel_wanted = false;
  bool cancel_sent = false;
  int submits = 0;
  std::chrono::milliseconds pause = poll_pause_min;
  SteadyClock::time_point next = SteadyClock::now();
};

// One thread and its jobs.
class JobRunner::Lane {
 public:
  Lane(Executor& executor, const Reports& reports)
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
      jobs_.try_emplace(id, std::make_shared<Tracked>(Tracked{std::move(job)}));
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
      const bool over = advance(*due, cancel);
      const std::lock_guard lock(mutex_);
      if (over) {
        jobs_.erase(due->job.id);
      } else if (due->cancel_wanted == cancel) {  // else: it was asked to look again at once
        due->next = SteadyClock::now() + due->pause;
        due->pause = std::min(due->pause * 3 / 2, poll_pause_max);
      }
    }
  }

  // The job that is due first, once it is due; nullptr at the end.
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

  // One step of one job; true when it is over and reported.
  bool advance(Tracked& tracked, bool cancel) {
    const Job& job = tracked.job;
    if (cancel && !tracked.cancel_sent) {
      if (const auto asked = executor_.cancel(job); !asked) return trouble(tracked, asked.error());
      tracked.cancel_sent = true;
    }
    const auto state = executor_.poll(job);
    if (!state) return trouble(tracked, state.error());
    switch (*state) {
      case JobState::running:
        return false;
      case JobState::absent:
        return cancel ? never_started(job) : submit(tracked);
      case JobState::finished: {
        const auto result = executor_.fetch_result(job);
        if (!result) return trouble(tracked, result.error());
        reports_.finished(job, *result);
        return true;
      }
      case JobState::lost: {
        const auto survivors = executor_.clean_up_lost(job);
        if (!survivors) return trouble(tracked, survivors.error());
        reports_.finished(job, lost_result(*survivors));
        return true;
      }
    }
    return false;
  }

  bool never_started(const Job& job) {
    JobResult result;
    result.canceled = true;
    result.failure = {Outcome::canceled, ErrorClass::terminal, "CANCELED", "never started"};
    reports_.finished(job, result);
    return true;
  }

  // A submit that fails may still have started the job, so the next step polls first. Only one that
  // keeps being absent, or can't succeed, is given up.
  bool submit(Tracked& tracked) {
    const auto ref = executor_.submit(tracked.job);
    if (ref) {
      reports_.submitted(tracked.job, *ref);
      return false;
    }
    const bool hopeless = ref.error().error_class == ErrorClass::config ||
                          ref.error().error_class == ErrorClass::terminal;
    if (!hopeless && ++tracked.submits < submits_max) return trouble(tracked, ref.error());
    reports_.finished(tracked.job, failed_submit(ref.error()));
    return true;
  }

  bool trouble(Tracked& tracked, const ExecutorError& error) {
    reports_.trouble(tracked.job, error);
    tracked.pause = trouble_pause;
    return false;
  }

  Executor& executor_;
  const Reports& reports_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::unordered_map<std::string, std::shared_ptr<Tracked>> jobs_;
  bool stopping_ = false;
  std::thread thread_;
};

JobRunner::JobRunner(Executor& executor, Reports reports, std::size_t threads)
    : reports_(std::move(reports)) {
  for (std::size_t index = 0; index < threads; ++index) {
    lanes_.push_back(std::make_unique<Lane>(executor, reports_));
  }
}

JobRunner::~JobRunner() = default;

JobRunner::Lane& JobRunner::lane_of(const std::string& job_id) {
  return *lanes_[std::hash<std::string>{}(job_id) % lanes_.size()];
}

void JobRunner::track(Job job) {
  Lane& lane = lane_of(job.id);
  lane.track(std::move(job));
}

void JobRunner::cancel(const std::string& job_id) { lane_of(job_id).cancel(job_id); }

}  // namespace signalbox
