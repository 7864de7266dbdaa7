// What lock holders believe, and have to be right about: that nobody else holds their lock. A
// holder counts its lease from when it asked, so it lets go before the service takes the lock away.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "tests/simulation/environment.h"

namespace signalbox::simulation {

class HeldLocks {
 public:
  explicit HeldLocks(Environment& environment) : environment_(environment) {}

  // `owner` was told that it holds the lock, and relies on it until then.
  void hold(const std::string& key, const std::string& owner, std::int64_t until_ns) {
    const std::int64_t now_ns = environment_.schedule.monotonic_ns();
    if (until_ns <= now_ns) return;  // the answer took longer than the lease
    for (const auto& [other, other_until_ns] : until_ns_[key]) {
      environment_.expect(other == owner || other_until_ns <= now_ns,
                          owner + " and " + other + " both hold lock " + key);
    }
    until_ns_[key][owner] = until_ns;
  }
  void let_go(const std::string& key, const std::string& owner) { until_ns_[key].erase(owner); }

 private:
  Environment& environment_;
  std::map<std::string, std::map<std::string, std::int64_t>> until_ns_;  // by key, then owner
};

}  // namespace signalbox::simulation
