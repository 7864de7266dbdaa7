// A priority queue of deadlines, one for each key, earliest first.
//
// A deadline that moves to a later time keeps its place in the order and is queued again only when
// its old time comes. So the frequent case, a heartbeat, costs one hash lookup. Times are monotonic
// (ns).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include <boost/unordered/unordered_flat_map.hpp>

namespace signalbox {

template <class Key, class Hash>
class DeadlineQueue {
 public:
  void clear() {
    timers_.clear();
    queue_.clear();
  }

  // Sets or moves the deadline of `key`.
  void arm(const Key& key, std::int64_t due_ns) {
    const auto [place, inserted] = timers_.try_emplace(key, Timer{due_ns, due_ns});
    if (inserted) {
      queue_.emplace(due_ns, key);
      return;
    }
    Timer& timer = place->second;
    timer.due_ns = due_ns;
    if (due_ns < timer.queued_ns) {
      queue_.erase({timer.queued_ns, key});
      timer.queued_ns = due_ns;
      queue_.emplace(due_ns, key);
    }
  }

  void disarm(const Key& key) {
    const auto place = timers_.find(key);
    if (place == timers_.end()) return;
    queue_.erase({place->second.queued_ns, key});
    timers_.erase(place);
  }

  [[nodiscard]] std::optional<std::int64_t> due_of(const Key& key) const {
    const auto place = timers_.find(key);
    if (place == timers_.end()) return std::nullopt;
    return place->second.due_ns;
  }

  // Removes the earliest deadline if it is due, and returns its time and key. Call until it returns
  // nullopt.
  std::optional<std::pair<std::int64_t, Key>> take_due(std::int64_t now_ns) {
    while (!queue_.empty() && queue_.begin()->first <= now_ns) {
      Key key = queue_.begin()->second;
      queue_.erase(queue_.begin());
      const auto place = timers_.find(key);
      const std::int64_t due_ns = place->second.due_ns;
      if (due_ns > now_ns) {
        place->second.queued_ns = due_ns;
        queue_.emplace(due_ns, std::move(key));
        continue;
      }
      timers_.erase(place);
      return std::pair(due_ns, std::move(key));
    }
    return std::nullopt;
  }

  // Returns when take_due() should be called next: at or before the earliest deadline. Returns
  // nullopt if there are no deadlines.
  [[nodiscard]] std::optional<std::int64_t> next_poll_ns() const {
    if (queue_.empty()) return std::nullopt;
    return queue_.begin()->first;
  }

 private:
  struct Timer {
    std::int64_t due_ns;
    std::int64_t queued_ns;  // its key in queue_; never later than due_ns
  };

  boost::unordered_flat_map<Key, Timer, Hash> timers_;
  std::set<std::pair<std::int64_t, Key>> queue_;
};

}  // namespace signalbox
