#include "server/replay/what_if/attempt_pool.h"

#include <algorithm>

#include "domain/nanoseconds.h"

namespace signalbox {
namespace {

const RecordedStation* station_at(const RecordedRun& run, const std::string& station) {
  for (std::size_t index = 0; index < run.stations.size(); ++index) {
    if (run.pipeline->stations[index].name == station) return &run.stations[index];
  }
  return nullptr;
}

bool has_result(const RecordedAttempt& attempt) {
  return attempt.ending == AttemptEnding::reported && !attempt.given_back &&
         attempt.outcome != Outcome::canceled;
}

bool is_shorter(const RecordedAttempt* left, const RecordedAttempt* right) {
  return left->worked_ns < right->worked_ns;
}

const RecordedAttempt& instant_success() {
  static const RecordedAttempt success = [] {
    RecordedAttempt attempt;
    attempt.ending = AttemptEnding::reported;
    return attempt;
  }();
  return success;
}

}  // namespace

AttemptPool::AttemptPool(const RecordedWork& work, std::uint64_t seed) : seed_(seed) {
  for (const RecordedRun& run : work.runs) {
    for (std::size_t index = 0; index < run.stations.size(); ++index) {
      Pools& pools = pools_[run.pipeline->stations[index].name];
      const auto& attempts = run.stations[index].attempts;
      for (std::size_t number = 0; number < attempts.size(); ++number) {
        // Nothing says how long an attempt that was cut short would have taken.
        if (attempts[number].ending == AttemptEnding::open) continue;
        if (attempts[number].outcome == Outcome::canceled) continue;
        (number == 0 ? pools.first : pools.later).push_back(&attempts[number]);
        if (has_result(attempts[number])) pools.results.push_back(&attempts[number]);
      }
    }
  }
  for (auto& [station, pools] : pools_) {
    std::stable_sort(pools.results.begin(), pools.results.end(), is_shorter);
  }
}

const RecordedRun* AttemptPool::recorded(const RunId& run) const {
  const auto place = assigned_.find(run);
  return place == assigned_.end() ? nullptr : place->second;
}

const RecordedAttempt& AttemptPool::draw(const RunId& run, const std::string& station,
                                         std::uint32_t number) {
  const auto place = pools_.find(station);
  const Pools* pools = place == pools_.end() ? nullptr : &place->second;
  if (pools == nullptr || (pools->first.empty() && pools->later.empty())) {
    ++unknown_;
    return instant_success();
  }
  ++drawn_;
  const bool later = pools->first.empty() || (number > 1 && !pools->later.empty());
  const Pool& pool = later ? pools->later : pools->first;
  return *pool[random_of(run, station, number)() % pool.size()];
}

// The seed depends on the attempt alone, so every policy draws the same, in whatever order.
std::mt19937 AttemptPool::random_of(const RunId& run, const std::string& station,
                                    std::uint32_t number) const {
  std::seed_seq seed{static_cast<std::uint32_t>(seed_), static_cast<std::uint32_t>(seed_ >> 32U),
                     static_cast<std::uint32_t>(UuidHash{}(run)),
                     static_cast<std::uint32_t>(std::hash<std::string>{}(station)), number};
  return std::mt19937(seed);
}

std::optional<AttemptPool::KeptEnd> AttemptPool::kept_end(const RunId& run,
                                                          const std::string& station,
                                                          std::uint32_t number,
                                                          const RecordedAttempt& lost) const {
  if (!lost.returned_ns && !lost.beats.empty()) return std::nullopt;
  const auto place = pools_.find(station);
  static const Pool none;
  const Pool& results = place == pools_.end() ? none : place->second.results;
  std::mt19937 random = random_of(run, station, number);
  const auto drawn_from = [&](std::size_t first) -> const RecordedAttempt* {
    return results[first + random() % (results.size() - first)];
  };
  if (lost.returned_ns) {
    return KeptEnd{*lost.returned_ns, results.empty() ? &instant_success() : drawn_from(0)};
  }
  RecordedAttempt least;
  least.worked_ns = lost.worked_ns + ns_per_ms;
  if (const RecordedRun* known = recorded(run)) {
    const RecordedStation* own = station_at(*known, station);
    for (std::size_t next = number; own != nullptr && next < own->attempts.size(); ++next) {
      const RecordedAttempt& attempt = own->attempts[next];
      if (has_result(attempt) && !is_shorter(&attempt, &least)) {
        return KeptEnd{attempt.worked_ns, &attempt};
      }
    }
  }
  const auto longer = std::lower_bound(results.begin(), results.end(), &least, is_shorter);
  if (longer != results.end()) {
    const RecordedAttempt* chosen = drawn_from(static_cast<std::size_t>(longer - results.begin()));
    return KeptEnd{chosen->worked_ns, chosen};
  }
  return KeptEnd{least.worked_ns, results.empty() ? &instant_success() : drawn_from(0)};
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
