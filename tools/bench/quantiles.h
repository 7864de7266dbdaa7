// Latencies of many operations, and what part of them took how long.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace signalbox {

class Quantiles {
 public:
  void add(std::chrono::nanoseconds latency) {
    ns_.push_back(static_cast<std::uint64_t>(latency.count()));
  }
  [[nodiscard]] std::size_t count() const { return ns_.size(); }

  // In microseconds; `part` is 0 … 1. 0 where nothing was added.
  [[nodiscard]] double us(double part) {
    if (ns_.empty()) return 0;
    const auto last = static_cast<double>(ns_.size() - 1);
    const auto nth = ns_.begin() + static_cast<std::ptrdiff_t>(part * last);
    std::nth_element(ns_.begin(), nth, ns_.end());
    return static_cast<double>(*nth) / 1000.0;
  }

 private:
  std::vector<std::uint64_t> ns_;
};

// Of rounds; 0 where there are none.
inline double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace signalbox
