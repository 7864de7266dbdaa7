#include "server/platform/call_bounds.h"

#include <algorithm>
#include <chrono>

namespace signalbox {
namespace {

// Belongs to its thread, as an interrupt flag does: no other thread reads or writes it.
thread_local const CallBounds* innermost_bounds = nullptr;

}  // namespace

CallBounds::CallBounds(std::int64_t deadline_ms, const std::atomic<bool>* canceled)
    : outer_(innermost_bounds),
      deadline_ms_(std::min(deadline_ms, CallBounds::deadline_ms())),
      canceled_(canceled) {
  innermost_bounds = this;
}

CallBounds::~CallBounds() { innermost_bounds = outer_; }

std::int64_t CallBounds::deadline_ms() {
  return innermost_bounds == nullptr ? never_ms : innermost_bounds->deadline_ms_;
}

bool CallBounds::is_canceled() {
  for (const CallBounds* each = innermost_bounds; each != nullptr; each = each->outer_) {
    if (each->canceled_ != nullptr && each->canceled_->load()) return true;
  }
  return false;
}

std::int64_t CallBounds::now_ms() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

}  // namespace signalbox
