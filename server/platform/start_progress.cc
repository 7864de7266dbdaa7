#include "server/platform/start_progress.h"

#include <sys/resource.h>

#include <chrono>
#include <utility>

#include "server/platform/service_manager.h"

namespace signalbox {
namespace {

constexpr std::chrono::milliseconds report_interval{1000};
// Each report extends the start's timeout by this much.
constexpr std::int64_t extension_us = 60'000'000;
// Less work isn't progress: the reporting thread itself uses some.
constexpr std::uint64_t progress_us_min = 20'000;

// Returns a measure of this process's work that grows also where no events are counted: processor
// time in microseconds, and blocks read.
std::uint64_t work_done() {
  struct rusage usage {};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto in_us = [](const timeval& time) {
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000 +
           static_cast<std::uint64_t>(time.tv_usec);
  };
  return in_us(usage.ru_utime) + in_us(usage.ru_stime) +
         static_cast<std::uint64_t>(usage.ru_inblock) * progress_us_min;
}

}  // namespace

StartProgress::StartProgress() : thread_([this] { run(); }) {}

StartProgress::~StartProgress() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void StartProgress::phase(std::string text) {
  {
    const std::lock_guard lock(mutex_);
    phase_ = std::move(text);
    done_ = 0;
    of_ = 0;
  }
  changed_.notify_one();
}

void StartProgress::events(Position done, Position of) {
  const std::lock_guard lock(mutex_);
  done_ = done;
  of_ = of;
}

std::string StartProgress::describe_progress(bool& moved) {
  const std::uint64_t work = work_done();
  moved = work > work_seen_ + progress_us_min;
  work_seen_ = work;
  std::string text = phase_;
  if (of_ > 0) text += ": " + std::to_string(done_) + " of " + std::to_string(of_) + " events";
  return text;
}

void StartProgress::run() {
  std::unique_lock lock(mutex_);
  std::string sent;
  while (!ended_) {
    bool moved = false;
    const std::string text = describe_progress(moved);
    lock.unlock();
    if (moved) {
      notify_starting(text, extension_us);
    } else if (text != sent) {
      notify_status(text);
    }
    sent = text;
    lock.lock();
    const std::string phase = phase_;
    changed_.wait_for(lock, report_interval, [&] { return ended_ || phase_ != phase; });
  }
}

}  // namespace signalbox
