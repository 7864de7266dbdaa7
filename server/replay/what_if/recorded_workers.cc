#include "server/replay/what_if/recorded_workers.h"

#include <algorithm>

namespace signalbox {

// A process does one attempt after the other. So a claim under a name whose other processes are all
// at work comes from the one whose attempt ended first without a word of it, or from a new one.
std::optional<UnreportedAttempt> RecordedWorkers::claim(const std::string& worker,
                                                        std::int64_t now_ns) {
  std::optional<UnreportedAttempt> lost;
  Workers& workers = workers_[worker];
  if (workers.idle > 0) {
    --workers.idle;
  } else if (!workers.unreported.empty()) {
    lost = note_busy_until(workers.unreported.front(), now_ns);
    workers.unreported.pop_front();
  }
  busy_changes_.emplace_back(now_ns, 1);
  return lost;
}

void RecordedWorkers::report(const std::string& worker, std::int64_t now_ns) {
  busy_changes_.emplace_back(now_ns, -1);
  ++workers_[worker].idle;
}

void RecordedWorkers::end_unreported(const std::string& worker, const UnreportedAttempt& ended) {
  busy_changes_.emplace_back(ended.ended_ns, -1);
  workers_[worker].unreported.push_back(ended);
}

std::optional<UnreportedAttempt> RecordedWorkers::tell_late(std::size_t run, std::size_t station,
                                                            std::size_t attempt,
                                                            std::int64_t now_ns) {
  for (auto& [name, workers] : workers_) {
    auto& unreported = workers.unreported;
    const auto ended = std::ranges::find_if(unreported, [&](const UnreportedAttempt& each) {
      return each.run == run && each.station == station && each.attempt == attempt;
    });
    if (ended == unreported.end()) continue;
    const auto lost = note_busy_until(*ended, now_ns);
    unreported.erase(ended);
    ++workers.idle;
    return lost;
  }
  return std::nullopt;
}

std::optional<UnreportedAttempt> RecordedWorkers::note_busy_until(const UnreportedAttempt& ended,
                                                                  std::int64_t now_ns) {
  // At the very moment of the end somebody else takes its place: it can't know yet.
  if (!ended.is_lost || now_ns <= ended.ended_ns) return std::nullopt;
  busy_changes_.emplace_back(ended.ended_ns, 1);
  busy_changes_.emplace_back(now_ns, -1);
  return ended;
}

std::size_t RecordedWorkers::at_once() && {
  std::stable_sort(busy_changes_.begin(), busy_changes_.end(),
                   [](const auto& left, const auto& right) { return left.first < right.first; });
  std::int64_t busy = 0;
  std::int64_t most = 0;
  for (const auto& [time_ns, change] : busy_changes_) most = std::max(most, busy += change);
  return static_cast<std::size_t>(most);
}

}  // namespace signalbox
