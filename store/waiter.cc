#include "store/waiter.h"

#include <chrono>
#include <utility>

namespace signalbox {
namespace {

template <class Clock>
std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch())
      .count();
}

}  // namespace

std::int64_t ThreadWaiter::monotonic_ns() const { return now_ns<std::chrono::steady_clock>(); }
std::int64_t ThreadWaiter::wall_ns() const { return now_ns<std::chrono::system_clock>(); }

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
