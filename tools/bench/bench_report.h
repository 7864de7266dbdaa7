// The results of measurements, with their targets, as JSON and as a table.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "tools/cli/terminal.h"

namespace signalbox {

// Collects latencies and returns their quantiles.
class Quantiles {
 public:
  void add(std::chrono::nanoseconds latency) {
    ns_.push_back(static_cast<std::uint64_t>(latency.count()));
  }
  [[nodiscard]] std::size_t count() const { return ns_.size(); }

  // Returns the quantile `part`, 0 … 1, in microseconds; 0 if nothing was added. Reorders the
  // values.
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

inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Returns the median; 0 without values.
inline double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Measured {
  enum class Bound { none, at_least, at_most };

  std::string name;  // for programs: "stations_per_fdatasync"
  double value = 0;  // the median of its rounds
  std::string unit;  // "/s", "µs", "×", …
  std::string what;  // description for people
  Bound bound = Bound::none;
  double target = 0;
  std::vector<double> rounds;

  [[nodiscard]] bool met() const;
};

// Makes a measurement without a target; its value is the median of `rounds`.
Measured measured(std::string name, std::vector<double> rounds, std::string unit, std::string what);
Measured at_least(double target, Measured measured);
Measured at_most(double target, Measured measured);

// Returns {"machine": {…}, "measurements": [{name, value, unit, what, target?, target_is?, met?,
// rounds}], "targets_met"}.
boost::json::object bench_json(const std::vector<Measured>& measurements);
std::string view_bench(const boost::json::object& result, const Terminal& terminal);

}  // namespace signalbox
