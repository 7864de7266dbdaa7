// The clock and event queue of the simulation: time stands still during an action and then jumps to
// the next planned one. One thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "server/platform/clock.h"

namespace signalbox {

class SimulatedTime final : public Clock {
 public:
  using Action = std::function<void()>;

  explicit SimulatedTime(std::int64_t from_ns) : now_ns_(from_ns) {}

  // Plans `action` at that time (UTC), or now if that has passed. Actions of one moment run in the
  // order in which they were planned.
  void at(std::int64_t time_ns, Action action) {
    planned_.emplace(std::pair(std::max(time_ns, now_ns_), ++count_), std::move(action));
  }
  void after(std::int64_t delay_ns, Action action) { at(now_ns_ + delay_ns, std::move(action)); }

  // Runs the next action. Returns false if there is none or it comes after `until_ns`.
  bool step(std::int64_t until_ns) {
    if (planned_.empty() || planned_.begin()->first.first > until_ns) return false;
    const auto first = planned_.extract(planned_.begin());
    now_ns_ = first.key().first;
    first.mapped()();
    return true;
  }

  [[nodiscard]] bool empty() const { return planned_.empty(); }
  [[nodiscard]] std::int64_t wall_ns() const override { return now_ns_; }
  [[nodiscard]] std::int64_t monotonic_ns() const override { return now_ns_; }

 private:
  std::map<std::pair<std::int64_t, std::uint64_t>, Action> planned_;
  std::int64_t now_ns_;
  std::uint64_t count_ = 0;
};

}  // namespace signalbox
