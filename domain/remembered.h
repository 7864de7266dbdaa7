// A bounded map that keeps the newest `capacity` keys and evicts the oldest first (FIFO).
//
// Insertion order is part of its value, so two replays of one log keep and evict the same keys.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <iterator>
#include <utility>

#include <boost/unordered/unordered_flat_map.hpp>

namespace signalbox {

template <class Key, class Value, class Hash = boost::hash<Key>>
class Remembered {
 public:
  explicit Remembered(std::size_t capacity) : capacity_(capacity) {}

  // Inserts or overwrites; an overwritten key keeps its age. Calls `forgotten(key, value)` for the
  // evicted entry, if there is one.
  template <class Forgotten>
  void put(const Key& key, Value value, Forgotten&& forgotten) {
    const auto [place, inserted] = values_.insert_or_assign(key, std::move(value));
    if (!inserted) return;
    order_.push_back(key);
    if (order_.size() <= capacity_) return;
    const auto oldest = values_.find(order_.front());
    forgotten(oldest->first, oldest->second);
    values_.erase(oldest);
    order_.pop_front();
  }
  void put(const Key& key, Value value) {
    put(key, std::move(value), [](const Key&, const Value&) {});
  }

  // Erases a key and returns whether it was present. Takes time linear in the number of newer keys.
  bool erase(const Key& key) {
    if (values_.erase(key) == 0) return false;
    order_.erase(std::prev(std::find(order_.rbegin(), order_.rend(), key).base()));
    return true;
  }

  // Erases each entry for which `goes(key, value)` is true.
  template <class Goes>
  void erase_if(Goes&& goes) {
    std::erase_if(order_, [&](const Key& key) {
      const auto place = values_.find(key);
      if (!goes(key, place->second)) return false;
      values_.erase(place);
      return true;
    });
  }

  // Reserves memory for `size` entries, at most the capacity.
  void reserve(std::size_t size) { values_.reserve(size < capacity_ ? size : capacity_); }

  // Returns the value, or nullptr. Valid until the next change.
  [[nodiscard]] const Value* find(const Key& key) const {
    const auto place = values_.find(key);
    return place == values_.end() ? nullptr : &place->second;
  }

  // Returns the oldest key's value, or nullptr if the map is empty.
  [[nodiscard]] const Value* oldest() const {
    return order_.empty() ? nullptr : find(order_.front());
  }
  [[nodiscard]] std::size_t size() const { return order_.size(); }

  // Calls visitor(key, value) for each entry, oldest first.
  template <class Visitor>
  void for_each(Visitor&& visitor) const {
    for (const Key& key : order_) visitor(key, values_.find(key)->second);
  }

  // Calls visitor(key, value) for each entry, newest first, until it returns false.
  template <class Visitor>
  void for_newest(Visitor&& visitor) const {
    for (auto key = order_.rbegin(); key != order_.rend(); ++key) {
      if (!visitor(*key, values_.find(*key)->second)) return;
    }
  }

 private:
  std::size_t capacity_;
  boost::unordered_flat_map<Key, Value, Hash> values_;
  std::deque<Key> order_;
};

}  // namespace signalbox
