#include "tests/simulation/schedule.h"

#include <algorithm>
#include <limits>

namespace signalbox::simulation {
namespace {

constexpr std::int64_t epoch_ns = 1'800'000'000 * ns_per_s;

}  // namespace

std::int64_t Schedule::wall_ns() const { return epoch_ns + now_ns_ + wall_offset_ns_; }

void Schedule::after(std::int64_t delay_ns, Owner owner, Action action) {
  planned_.emplace(Moment{now_ns_ + delay_ns, ++count_}, Planned{owner, std::move(action)});
}

bool Schedule::step() { return step_by(std::numeric_limits<std::int64_t>::max()); }

void Schedule::run_until(std::int64_t time_ns) {
  while (step_by(time_ns)) {
  }
  now_ns_ = std::max(now_ns_, time_ns);
}

bool Schedule::step_by(std::int64_t latest_ns) {
  while (!planned_.empty() && planned_.begin()->first.first <= latest_ns) {
    auto first = planned_.extract(planned_.begin());
    const std::int64_t time_ns = first.key().first;
    const auto stalled = stalled_until_ns_.find(first.mapped().owner);
    if (stalled != stalled_until_ns_.end() && time_ns < stalled->second) {
      first.key().first = stalled->second;
      planned_.insert(std::move(first));
      continue;
    }
    now_ns_ = time_ns;
    running_ = first.mapped().owner;
    first.mapped().action();
    return true;
  }
  return false;
}

void Schedule::kill(Owner owner) {
  std::erase_if(planned_, [owner](const auto& entry) { return entry.second.owner == owner; });
  stalled_until_ns_.erase(owner);
}

void Schedule::stall(Owner owner, std::int64_t duration_ns) {
  stalled_until_ns_[owner] = now_ns_ + duration_ns;
}

}  // namespace signalbox::simulation
