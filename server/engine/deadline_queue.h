// Deadlines by key, soonest first.
//
// One that was moved to a later time stays where it is in the order and is looked at again when its
// old time comes, so that a heartbeat costs one look-up.
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

  // Takes the soonest one out if it is due, with its time; call until there is none.
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

  // When to look again; nullopt if nothing is set.
  [[nodiscard]] std::optional<std::int64_t> next_poll_ns() const {
    if (queue_.empty()) return std::nullopt;
    return queue_.begin()->first;
  }

 private:
  struct Timer {
    std::int64_t due_ns;
    std::int64_t queued_ns;  // where the queue holds it; never later than due_ns
  };

  boost::unordered_flat_map<Key, Timer, Hash> timers_;
  std::set<std::pair<std::int64_t, Key>> queue_;
};

}  // namespace signalbox
