// The stations that can be claimed right now, oldest first, by executor and station name. (Remote
// work of another executor is among that of `modal`: remote_work.h.)
//
// Derived from the runs (a station is here exactly while its ready_at isn't 0), so that a claim
// costs what it takes, not what exists. check_invariants() compares the two.
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
  void insert(ExecutorKind executor, std::string_view station, Position ready_at, const RunId& run);
  void erase(ExecutorKind executor, std::string_view station, Position ready_at, const RunId& run);

  // The run whose station has been ready longest, among `stations` or, where that is empty, among
  // all of this executor.
  [[nodiscard]] std::optional<RunId> oldest(ExecutorKind executor,
                                            const std::vector<std::string>& stations) const;
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty(ExecutorKind executor) const;

 private:
  using Queue = std::set<std::pair<Position, RunId>>;
  using Queues = std::map<std::string, Queue, std::less<>>;

  static std::size_t slot(ExecutorKind executor) { return static_cast<std::size_t>(executor) - 1; }

  std::array<Queues, executor_kinds> by_executor_;
  std::size_t size_ = 0;
};

}  // namespace signalbox
