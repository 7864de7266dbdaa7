// Decides which records a screen is sent, on which nobody reads more than so many in a second. In a
// flood it is sent none: whoever looks asks for what it shows anyway, and a part of the records
// costs the service as much for each screen as they all would in a quieter time.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace signalbox {

class RecordRate {
 public:
  using Clock = std::chrono::steady_clock;

  explicit RecordRate(std::uint32_t per_second_max)
      : per_second_max_(per_second_max), room_(at_once_max()) {}

  // Counts records that come `now`, and returns whether they are sent: all or none. At once so many
  // fit as may come in a quarter of a second. After more, none are sent until fewer than the rate
  // have come for up to as long.
  bool takes(std::size_t count, Clock::time_point now) {
    const std::chrono::duration<double> passed = now - last_;
    last_ = now;
    room_ = std::min(at_once_max(), room_ + passed.count() * per_second_max_);
    room_ = std::max(room_ - static_cast<double>(count), -at_once_max());
    return room_ >= 0;
  }

 private:
  [[nodiscard]] double at_once_max() const { return per_second_max_ / 4; }

  double per_second_max_;
  double room_;  // for so many more records; less than none in a flood
  Clock::time_point last_{};
};

}  // namespace signalbox
