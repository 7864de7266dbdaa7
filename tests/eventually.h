// Polls for a condition with one generous time limit. Tests wait for conditions and never for a
// time, so they pass on a slow machine and still end before their own timeout.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

namespace signalbox {

// Long enough for any machine that makes progress at all, and well below a test's own timeout.
inline constexpr std::chrono::seconds eventually_at_most{120};

// Returns true as soon as `condition` holds, or false after `eventually_at_most`. Blocks; calls
// `condition` every 3 ms on the caller's thread.
inline bool eventually(const std::function<bool()>& condition) {
  const auto give_up = std::chrono::steady_clock::now() + eventually_at_most;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > give_up) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
  }
  return true;
}

}  // namespace signalbox
