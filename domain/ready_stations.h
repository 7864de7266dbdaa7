// An index of the stations that can be claimed now, oldest first, by executor and, within it, by
// the station's name or by where its job may be executed (ready_queue_of() in placement.h).
//
// It is derived from the runs: a station is in it exactly while its ready_at isn't 0. So the cost
// of a claim doesn't grow with the number of runs. check_invariants() compares it with the runs.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "domain/ids.h"
#include "domain/pipeline.h"

namespace signalbox {

class ReadyStations {
 public:
  void insert(ExecutorKind executor, std::string_view queue, Position ready_at, const RunId& run);
  void erase(ExecutorKind executor, std::string_view queue, Position ready_at, const RunId& run);

  // Returns the run whose station has been ready longest: of the queues named in `names` or, if
  // that is empty, of all of this executor. Returns nullopt if none is ready.
  [[nodiscard]] std::optional<RunId> oldest(ExecutorKind executor,
                                            const std::vector<std::string>& names) const;
  // Returns the run that has been ready longest of each queue of this executor, the longest first.
  [[nodiscard]] std::vector<RunId> oldest_of_each(ExecutorKind executor) const;
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t size(ExecutorKind executor, std::string_view queue) const;
  [[nodiscard]] bool empty(ExecutorKind executor) const;

 private:
  using Queue = std::set<std::pair<Position, RunId>>;
  using Queues = std::map<std::string, Queue, std::less<>>;

  static std::size_t slot(ExecutorKind executor) { return static_cast<std::size_t>(executor) - 1; }

  std::array<Queues, executor_kinds> by_executor_;
  std::size_t size_ = 0;
};

}  // namespace signalbox
