#include "store/waiter.h"

#include <chrono>
#include <ctime>

namespace signalbox {
namespace {

std::int64_t read_clock(clockid_t clock) {
  timespec time{};
  ::clock_gettime(clock, &time);
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

// Goes on while the machine sleeps, in which another server may take the log.
std::int64_t ThreadWaiter::monotonic_ns() const { return read_clock(CLOCK_BOOTTIME); }
std::int64_t ThreadWaiter::wall_ns() const { return read_clock(CLOCK_REALTIME); }

void ThreadWaiter::wait(std::int64_t ns) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::nanoseconds(ns), [this] { return is_awake_; });
  is_awake_ = false;
}

void ThreadWaiter::wake() {
  {
    const std::lock_guard lock(mutex_);
    is_awake_ = true;
  }
  changed_.notify_all();
}

}  // namespace signalbox
