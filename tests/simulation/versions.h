// What something was at each position of the log.
#pragma once

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "domain/ids.h"

namespace signalbox::simulation {

template <class Value>
class Versions {
 public:
  // Records the value from `position` on. Positions only grow.
  void put(Position position, Value value) {
    if (!all_.empty() && all_.back().first == position) {
      all_.back().second = std::move(value);
    } else {
      all_.emplace_back(position, std::move(value));
    }
  }
  // Returns the value after `position`; Value() if it had none yet.
  [[nodiscard]] const Value& at(Position position) const {
    const auto next = after(position);
    return next == all_.begin() ? before_all_ : std::prev(next)->second;
  }
  [[nodiscard]] const Value& latest() const {
    return all_.empty() ? before_all_ : all_.back().second;
  }
  // Returns true if `fits(value)` for a value that it had after a position in from … to.
  template <class Fits>
  [[nodiscard]] bool any_of(Position from, Position to, Fits&& fits) const {
    if (fits(at(from))) return true;
    for (auto next = after(from); next != all_.end() && next->first <= to; ++next) {
      if (fits(next->second)) return true;
    }
    return false;
  }
  // Returns the position of the first value, or 0.
  [[nodiscard]] Position first() const { return all_.empty() ? 0 : all_.front().first; }

 private:
  using Version = std::pair<Position, Value>;

  [[nodiscard]] typename std::vector<Version>::const_iterator after(Position position) const {
    return std::upper_bound(
        all_.begin(), all_.end(), position,
        [](Position wanted, const Version& version) { return wanted < version.first; });
  }

  std::vector<Version> all_;
  Value before_all_{};
};

}  // namespace signalbox::simulation
