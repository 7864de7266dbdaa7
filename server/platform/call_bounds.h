// The bounds of the blocking calls of one thread: a deadline, and a request to end.
//
// Whoever runs work on a thread sets them, and git() and send() keep them, however deep in the work
// they are called. So one piece of work has one deadline for all its calls together.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

namespace signalbox {

class CallBounds {
 public:
  // A deadline that never passes.
  static constexpr std::int64_t never_ms = std::numeric_limits<std::int64_t>::max();

  // Sets the bounds of the calling thread's blocking calls until this object ends, on the same
  // thread; the bounds that were set before apply as well. `deadline_ms` is on the clock of
  // now_ms(). `canceled` may be nullptr, and outlives this object.
  explicit CallBounds(std::int64_t deadline_ms, const std::atomic<bool>* canceled = nullptr);
  ~CallBounds();
  CallBounds(const CallBounds&) = delete;
  CallBounds& operator=(const CallBounds&) = delete;

  // Return the bounds of the calling thread: the earliest deadline, never_ms if there is none, and
  // whether the work was requested to end.
  static std::int64_t deadline_ms();
  static bool is_canceled();

  // Returns milliseconds on CLOCK_MONOTONIC, which stands still while the machine sleeps: work that
  // sleeps along with it loses no time. Means nothing to another process, or in a file.
  static std::int64_t now_ms();

 private:
  const CallBounds* const outer_;
  const std::int64_t deadline_ms_;  // the earliest
  const std::atomic<bool>* const canceled_;
};

}  // namespace signalbox
