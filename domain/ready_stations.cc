#include "domain/ready_stations.h"

#include "domain/check.h"

namespace signalbox {

void ReadyStations::insert(ExecutorKind executor, std::string_view queue, Position ready_at,
                           const RunId& run) {
  Queues& queues = by_executor_[slot(executor)];
  auto place = queues.find(queue);
  if (place == queues.end()) place = queues.emplace(std::string(queue), Queue{}).first;
  SIGNALBOX_CHECK(place->second.emplace(ready_at, run).second);
  ++size_;
}

// Keeps an emptied queue for the next station that belongs there. Names are few, but they come from
// outside, so an emptied queue is dropped once the map has more names than pipelines use.
void ReadyStations::erase(ExecutorKind executor, std::string_view queue, Position ready_at,
                          const RunId& run) {
  constexpr std::size_t names_before_sweep = 256;
  Queues& queues = by_executor_[slot(executor)];
  const auto place = queues.find(queue);
  SIGNALBOX_CHECK(place != queues.end());
  SIGNALBOX_CHECK(place->second.erase({ready_at, run}) == 1);
  if (place->second.empty() && queues.size() > names_before_sweep) queues.erase(place);
  --size_;
}

std::optional<RunId> ReadyStations::oldest(ExecutorKind executor,
                                           const std::vector<std::string>& names) const {
  const Queues& queues = by_executor_[slot(executor)];
  const std::pair<Position, RunId>* best = nullptr;
  const auto consider = [&best](const Queue& queue) {
    if (!queue.empty() && (best == nullptr || *queue.begin() < *best)) best = &*queue.begin();
  };
  if (names.empty()) {
    for (const auto& [name, queue] : queues) consider(queue);
  } else {
    for (const std::string& name : names) {
      if (const auto place = queues.find(name); place != queues.end()) consider(place->second);
    }
  }
  if (best == nullptr) return std::nullopt;
  return best->second;
}

std::vector<RunId> ReadyStations::oldest_of_each(ExecutorKind executor) const {
  Queue oldest;
  for (const auto& [name, queue] : by_executor_[slot(executor)]) {
    if (!queue.empty()) oldest.insert(*queue.begin());
  }
  std::vector<RunId> runs;
  for (const auto& [ready_at, run] : oldest) runs.push_back(run);
  return runs;
}

std::size_t ReadyStations::size(ExecutorKind executor, std::string_view queue) const {
  const Queues& queues = by_executor_[slot(executor)];
  const auto place = queues.find(queue);
  return place == queues.end() ? 0 : place->second.size();
}

bool ReadyStations::empty(ExecutorKind executor) const {
  for (const auto& [name, queue] : by_executor_[slot(executor)]) {
    if (!queue.empty()) return false;
  }
  return true;
}

}  // namespace signalbox
