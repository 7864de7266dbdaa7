#include "server/platform/start_progress.h"

#include <sys/resource.h>

#include <chrono>
#include <utility>

#include "server/platform/service_manager.h"

namespace signalbox {
namespace {

constexpr std::chrono::milliseconds progress_pause{1000};
// Each word of progress is good for so long.
constexpr std::int64_t longer_us = 60'000'000;
// What this thread itself uses meanwhile is far less.
constexpr std::uint64_t work_us_least = 20'000;

// Processor time and blocks read: what moves while nothing can be counted.
std::uint64_t work_done() {
  struct rusage usage {};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto in_us = [](const timeval& time) {
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000 +
           static_cast<std::uint64_t>(time.tv_usec);
  };
  return in_us(usage.ru_utime) + in_us(usage.ru_stime) +
         static_cast<std::uint64_t>(usage.ru_inblock) * work_us_least;
}

}  // namespace

StartProgress::StartProgress(bool again) : again_(again), thread_([this] { run(); }) {}

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

std::string StartProgress::look(bool& moved) {
  const std::uint64_t work = work_done();
  moved = work > work_seen_ + work_us_least;
  work_seen_ = work;
  std::string text = phase_;
  if (of_ > 0) text += ": " + std::to_string(done_) + " of " + std::to_string(of_) + " events";
  return text;
}

void StartProgress::run() {
  std::unique_lock lock(mutex_);
  std::string told;
  while (!ended_) {
    bool moved = false;
    const std::string text = look(moved);
    lock.unlock();
    if (moved && again_) notify_alive();
    if (moved) {
      tell_starting(text, longer_us);
    } else if (text != told) {
      tell_status(text);
    }
    told = text;
    lock.lock();
    const std::string phase = phase_;
    changed_.wait_for(lock, progress_pause, [&] { return ended_ || phase_ != phase; });
  }
}

}  // namespace signalbox
