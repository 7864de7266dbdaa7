// Measures for how long something has been unchanged, by polling it in rounds. Each round adds the
// time since the previous one on the monotonic clock, but at most `gap_ns_max`. So time in which
// the watcher itself didn't run isn't held against what it watches.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include <boost/unordered/unordered_flat_map.hpp>

#include "domain/ids.h"

namespace signalbox {

class SameStateTimer {
 public:
  // Begins a round at this moment. end_round() forgets what wasn't polled in the round.
  void begin_round(std::int64_t monotonic_ns, std::int64_t gap_ns_max) {
    const std::int64_t passed_ns = rounds_ == 0 ? 0 : monotonic_ns - round_ns_;
    gap_ns_ = std::clamp<std::int64_t>(passed_ns, 0, gap_ns_max);
    round_ns_ = monotonic_ns;
    ++rounds_;
  }

  // Polls `name`: returns for how long (ms) it has had this mark; 0 if the mark is new.
  std::int64_t same_for_ms(const std::string& name, Position mark) {
    const auto [place, inserted] = seen_.try_emplace(name, Seen{mark, 0, rounds_});
    Seen& seen = place->second;
    if (!inserted && seen.mark == mark) {
      seen.same_ns += gap_ns_;
    } else {
      seen = {mark, 0, rounds_};
    }
    seen.round = rounds_;
    return seen.same_ns / 1'000'000;
  }

  void forget(const std::string& name) { seen_.erase(name); }

  void end_round() {
    boost::unordered::erase_if(seen_,
                               [this](const auto& each) { return each.second.round != rounds_; });
  }

 private:
  struct Seen {
    Position mark = 0;
    std::int64_t same_ns = 0;
    std::uint64_t round = 0;
  };

  boost::unordered_flat_map<std::string, Seen> seen_;
  std::int64_t round_ns_ = 0;
  std::int64_t gap_ns_ = 0;
  std::uint64_t rounds_ = 0;
};

}  // namespace signalbox
