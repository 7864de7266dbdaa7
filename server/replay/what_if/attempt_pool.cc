#include "server/replay/what_if/attempt_pool.h"

#include <random>

namespace signalbox {
namespace {

const RecordedStation* station_at(const RecordedRun& run, const std::string& station) {
  for (std::size_t index = 0; index < run.stations.size(); ++index) {
    if (run.pipeline->stations[index].name == station) return &run.stations[index];
  }
  return nullptr;
}

}  // namespace

AttemptPool::AttemptPool(const RecordedWork& work, std::uint64_t seed) : seed_(seed) {
  for (const RecordedRun& run : work.runs) {
    for (std::size_t index = 0; index < run.stations.size(); ++index) {
      Pools& pools = pools_[run.pipeline->stations[index].name];
      const auto& attempts = run.stations[index].attempts;
      for (std::size_t number = 0; number < attempts.size(); ++number) {
        // How long an attempt that was cut short would have taken isn't known.
        if (attempts[number].ending == AttemptEnding::open) continue;
        if (attempts[number].outcome == Outcome::canceled) continue;
        (number == 0 ? pools.first : pools.later).push_back(&attempts[number]);
      }
    }
  }
}

const RecordedRun* AttemptPool::recorded(const RunId& run) const {
  const auto place = assigned_.find(run);
  return place == assigned_.end() ? nullptr : place->second;
}

const RecordedAttempt& AttemptPool::draw(const RunId& run, const std::string& station,
                                         std::uint32_t number) {
  static const RecordedAttempt instant_success = [] {
    RecordedAttempt attempt;
    attempt.ending = AttemptEnding::reported;
    return attempt;
  }();
  const auto place = pools_.find(station);
  const Pools* pools = place == pools_.end() ? nullptr : &place->second;
  if (pools == nullptr || (pools->first.empty() && pools->later.empty())) {
    ++unknown_;
    return instant_success;
  }
  ++drawn_;
  const bool later = pools->first.empty() || (number > 1 && !pools->later.empty());
  const Pool& pool = later ? pools->later : pools->first;
  // The seed depends on the attempt alone, so every policy draws the same, in whatever order.
  std::seed_seq seed{static_cast<std::uint32_t>(seed_), static_cast<std::uint32_t>(seed_ >> 32U),
                     static_cast<std::uint32_t>(UuidHash{}(run)),
                     static_cast<std::uint32_t>(std::hash<std::string>{}(station)), number};
  std::mt19937 random(seed);
  return *pool[random() % pool.size()];
}

const RecordedAttempt& AttemptPool::attempt(const RunId& run, const std::string& station,
                                            std::uint32_t number) {
  if (const RecordedRun* known = recorded(run)) {
    const RecordedStation* place = station_at(*known, station);
    if (place != nullptr && number <= place->attempts.size()) return place->attempts[number - 1];
  }
  return draw(run, station, number);
}

const RecordedDecision* AttemptPool::decision(const RunId& run, const std::string& station,
                                              std::size_t number) const {
  const RecordedRun* known = recorded(run);
  const RecordedStation* place = known == nullptr ? nullptr : station_at(*known, station);
  if (place == nullptr || number >= place->decisions.size()) return nullptr;
  return &place->decisions[number];
}

}  // namespace signalbox
