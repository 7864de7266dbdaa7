// The part of what all callers have in common that one of them may have at a time. Copies count
// together. Thread-safe.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace signalbox {

class CallerShares {
 public:
  // `own_max` is how many one caller may have.
  explicit CallerShares(std::size_t own_max) : own_max_(own_max) {}

  // Returns what counts for the caller until its last copy is destroyed, on any thread; nullptr if
  // the caller has all that one may have.
  [[nodiscard]] std::shared_ptr<void> take(const std::string& caller) const {
    const std::lock_guard lock(taken_->mutex);
    std::size_t& own = taken_->by_caller[caller];
    if (own >= own_max_) return nullptr;
    ++own;
    return {taken_.get(), [taken = taken_, caller](void*) {
              const std::lock_guard giving(taken->mutex);
              const auto place = taken->by_caller.find(caller);
              if (--place->second == 0) taken->by_caller.erase(place);
            }};
  }

 private:
  struct Taken {
    std::mutex mutex;
    std::map<std::string, std::size_t> by_caller;  // those that have any
  };

  const std::size_t own_max_;
  const std::shared_ptr<Taken> taken_ = std::make_shared<Taken>();
};

}  // namespace signalbox
