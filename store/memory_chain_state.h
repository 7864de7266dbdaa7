// The state of a MemoryChain, shared by the sources of what changes it from outside (memory_chain)
// and of its connections (memory_shared_log).
//
// Internal: only those sources include it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "store/memory_shared_log.h"

namespace signalbox {

struct MemoryChain::State {
  mutable std::mutex mutex;
  std::condition_variable changed;
  bool is_created = false;
  CellState cell;
  std::vector<ChainLink> links;
  std::size_t acknowledged = 0;      // so many links survive a failover
  std::optional<ChainLink> delayed;  // an append that is under way without its writer
  std::optional<LostAppend> lost;    // of the next append
  bool rolls_back = false;           // once an append has failed
  std::map<std::string, ReplicaReport> replicas;
  std::set<const void*> attending;  // connections
  bool is_away = false;
  bool is_denied = false;
  bool is_stuck = false;
  bool is_quorum = true;
  std::optional<std::int64_t> stopped_clock_ns;

  [[nodiscard]] std::int64_t wall_ns() const {
    if (stopped_clock_ns) return *stopped_clock_ns;
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
  }

  // The epoch isn't compared again: a database did that when the statement began.
  void land(std::optional<ChainLink> link) {
    if (link && follows(*link)) links.push_back(*std::move(link));
  }
  [[nodiscard]] bool follows(const ChainLink& link) const {
    const ChainLink& end = links.back();
    return end.prev == link.before && end.last == link.prev && end.epoch == link.epoch_before;
  }
  void acknowledge() { acknowledged = links.size(); }
  void roll_back() {
    links.resize(acknowledged);
    delayed.reset();
    attending.clear();
  }
};

}  // namespace signalbox
