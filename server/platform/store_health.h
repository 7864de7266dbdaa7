// Whether a store of objects answers. After a failure it is asked again only once a pause is over,
// by one caller at a time: one that hangs takes no more than one thread of those who come
// meanwhile. Thread-safe.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>

#include "store/store_error.h"

namespace signalbox {

// Pause after a failed request: until then every call fails at once.
inline constexpr std::int64_t artifact_store_pause_ms_min = 2000;

struct StoreTrouble {
  StoreError error;           // the latest
  std::int64_t since_ns = 0;  // UTC, of the first failure
};

class StoreHealth {
 public:
  // Returns the latest error if the store isn't to be asked now. Else the caller asks it, and then
  // calls note().
  Stored<void> admit();
  // Takes the outcome of a request: nullopt if the store answered.
  void note(std::optional<StoreError> error);

  // Returns what is wrong, or nullopt.
  [[nodiscard]] std::optional<StoreTrouble> trouble() const;

 private:
  mutable std::mutex mutex_;
  std::optional<StoreTrouble> trouble_;
  std::int64_t next_ms_ = 0;  // CallBounds::now_ms(), of the next request while there is trouble
};

}  // namespace signalbox
