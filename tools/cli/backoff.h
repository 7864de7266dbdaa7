// The pauses between attempts: each twice as long as the one before, up to a bound, and a random
// part shorter, so that the many clients of a server that is back don't come at the same moment.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>

namespace signalbox {

class Backoff {
 public:
  Backoff(std::chrono::milliseconds shortest, std::chrono::milliseconds longest)
      : shortest_(shortest), longest_(longest), pause_(shortest), random_(std::random_device{}()) {}

  // Returns the next pause, which is from a half of its full length to all of it.
  std::chrono::milliseconds next() {
    const std::int64_t full = pause_.count();
    pause_ = std::min(2 * pause_, longest_);
    std::uniform_int_distribution<std::int64_t> part(full - full / 2, full);
    return std::chrono::milliseconds(part(random_));
  }
  // Begins anew, after an attempt that succeeded.
  void reset() { pause_ = shortest_; }

 private:
  std::chrono::milliseconds shortest_;
  std::chrono::milliseconds longest_;
  std::chrono::milliseconds pause_;
  std::minstd_rand random_;
};

}  // namespace signalbox
