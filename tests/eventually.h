// Polls for a condition with one generous time limit. Tests wait for conditions and never for a
// time, so they pass on a slow machine and still end before their own timeout.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>

namespace signalbox {

// Long enough for any machine that makes progress at all, and well below a test's own timeout.
inline constexpr std::chrono::seconds eventually_at_most{120};

// Returns true soon after `condition` holds, or false after `eventually_at_most`. Blocks; calls
// `condition` on the caller's thread every 3 ms. Many conditions start a program: one that takes
// long is called less often as the wait grows, so that it leaves the processor to what it waits
// for: it has a ninth of the time, and the wait is longer by a quarter at most.
inline bool eventually(const std::function<bool()>& condition) {
  const auto begun = std::chrono::steady_clock::now();
  for (auto called = begun; !condition(); called = std::chrono::steady_clock::now()) {
    const auto now = std::chrono::steady_clock::now();
    if (now > begun + eventually_at_most) return false;
    const auto pause = std::min((now - begun) / 4, 8 * (now - called));
    std::this_thread::sleep_for(
        std::max<std::chrono::nanoseconds>(pause, std::chrono::milliseconds(3)));
  }
  return true;
}

}  // namespace signalbox
