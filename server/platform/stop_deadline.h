// Ends the process if a stop takes too long: whatever hangs (a disk, a thread in the kernel), the
// service ends within a bounded time after SIGTERM, SIGINT or a failure that ends it.
//
// It has a thread and a signal handler of its own, so it also works while the engine's thread
// hangs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace signalbox {

class StopDeadline {
 public:
  // Waits for SIGTERM, SIGINT or begin(). If this object still lives `stop_ms` after the first of
  // them, calls `on_exceeded` on a thread of this object, and exits the process with `exit_code`,
  // without any cleanup.
  StopDeadline(std::int64_t stop_ms, int exit_code, std::function<void()> on_exceeded);
  // Disarms it. Doesn't block for long.
  ~StopDeadline();
  // The stop begins now, unless it has begun. `exit_code` replaces the constructor's, unless an
  // earlier call replaced it. Any thread.
  void begin(int exit_code);
  StopDeadline(const StopDeadline&) = delete;
  StopDeadline& operator=(const StopDeadline&) = delete;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace signalbox
