// Which runs got a LateUsageReported a moment ago.
//
// A decision about one depends on records that were read from the log before: whether the usage of
// an attempt is known, what a run that is retried has used. This tells what such a reading may
// lack. It is no part of the encoded state: a process decides only on what it has read itself, and
// so needs only what it has applied itself.
#pragma once

#include <algorithm>
#include <cstddef>

#include "domain/event.h"
#include "domain/remembered.h"

namespace signalbox {

class RecentLateUsage {
 public:
  void note(const RunId& run_id, Position position) {
    latest_.put(run_id, position, [this](const RunId&, Position forgotten) {
      forgotten_ = std::max(forgotten_, forgotten);
    });
  }
  // Returns whether the records of the run, read when the log was at `read_at`, may lack one.
  [[nodiscard]] bool is_newer(const RunId& run_id, Position read_at) const {
    const Position* const latest = latest_.find(run_id);
    return (latest != nullptr && *latest > read_at) || forgotten_ > read_at;
  }
  // Forgets what came after `position`: it was rolled back.
  void roll_back(Position position) {
    latest_.erase_if([position](const RunId&, Position latest) { return latest > position; });
    forgotten_ = std::min(forgotten_, position);
  }

 private:
  static constexpr std::size_t runs_max = 1024;

  Remembered<RunId, Position, UuidHash> latest_{runs_max};
  Position forgotten_ = 0;  // the latest of the runs that have no place any more
};

}  // namespace signalbox
