// Waiting for what has to come true: on a slow machine later, but before a test is given up.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

namespace signalbox {

// Long enough for any machine that makes progress at all; well before a test's own timeout.
inline constexpr std::chrono::seconds eventually_at_most{120};

// Whether `condition` came true in that time; asked every few milliseconds.
inline bool eventually(const std::function<bool()>& condition) {
  const auto give_up = std::chrono::steady_clock::now() + eventually_at_most;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > give_up) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
  }
  return true;
}

}  // namespace signalbox
