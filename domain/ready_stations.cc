#include "domain/ready_stations.h"

#include "domain/check.h"

namespace signalbox {

void ReadyStations::insert(ExecutorKind executor, std::string_view station, Position ready_at,
                           const RunId& run) {
  Queues& queues = by_executor_[slot(executor)];
  auto place = queues.find(station);
  if (place == queues.end()) place = queues.emplace(std::string(station), Queue{}).first;
  SIGNALBOX_CHECK(place->second.emplace(ready_at, run).second);
  ++size_;
}

// Keeps an emptied queue for the next station of its name. Names are few, but they come from
// outside, so an emptied queue is dropped once the map has more names than pipelines use.
void ReadyStations::erase(ExecutorKind executor, std::string_view station, Position ready_at,
                          const RunId& run) {
  constexpr std::size_t names_before_sweep = 256;
  Queues& queues = by_executor_[slot(executor)];
  const auto place = queues.find(station);
  SIGNALBOX_CHECK(place != queues.end());
  SIGNALBOX_CHECK(place->second.erase({ready_at, run}) == 1);
  if (place->second.empty() && queues.size() > names_before_sweep) queues.erase(place);
  --size_;
}

std::optional<RunId> ReadyStations::oldest(ExecutorKind executor,
                                           const std::vector<std::string>& stations) const {
  const Queues& queues = by_executor_[slot(executor)];
  const std::pair<Position, RunId>* best = nullptr;
  const auto consider = [&best](const Queue& queue) {
    if (!queue.empty() && (best == nullptr || *queue.begin() < *best)) best = &*queue.begin();
  };
  if (stations.empty()) {
    for (const auto& [name, queue] : queues) consider(queue);
  } else {
    for (const std::string& name : stations) {
      if (const auto place = queues.find(name); place != queues.end()) consider(place->second);
    }
  }
  if (best == nullptr) return std::nullopt;
  return best->second;
}

bool ReadyStations::empty(ExecutorKind executor) const {
  for (const auto& [name, queue] : by_executor_[slot(executor)]) {
    if (!queue.empty()) return false;
  }
  return true;
}

}  // namespace signalbox
