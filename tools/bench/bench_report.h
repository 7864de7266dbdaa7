// What a measurement found, with the target that it is held against.
#pragma once

#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "tools/cli/terminal.h"

namespace signalbox {

struct Measured {
  enum class Bound { none, at_least, at_most };

  std::string name;  // for programs: "stations_per_fdatasync"
  double value = 0;  // the median of its rounds
  std::string unit;  // "/s", "µs", "×", …
  std::string what;  // for people
  Bound bound = Bound::none;
  double target = 0;
  std::vector<double> rounds;

  [[nodiscard]] bool met() const;
};

// The median of `rounds`.
Measured measured(std::string name, std::vector<double> rounds, std::string unit, std::string what);
Measured at_least(double target, Measured measured);
Measured at_most(double target, Measured measured);

// {"machine": {…}, "measurements": [{name, value, unit, what, target?, met?, rounds}],
// "targets_met"}.
boost::json::object bench_json(const std::vector<Measured>& measurements);
std::string view_bench(const boost::json::object& result, const Terminal& terminal);

}  // namespace signalbox
