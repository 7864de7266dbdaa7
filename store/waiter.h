// The time that a thread lives in, and how it waits: the machine's in the service, a simulated one
// in the simulator, which runs the same threads without any time passing.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace signalbox {

class Waiter {
 public:
  Waiter() = default;
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;
  virtual ~Waiter() = default;

  // Any thread.
  [[nodiscard]] virtual std::int64_t monotonic_ns() const = 0;
  [[nodiscard]] virtual std::int64_t wall_ns() const = 0;  // UTC

  // Blocks for `ns`, or until wake(). Only one thread waits.
  virtual void wait(std::int64_t ns) = 0;
  // Ends the wait under way or, if there is none, the next one. Any thread.
  virtual void wake() = 0;
};

// Waits on the machine's clocks.
class ThreadWaiter final : public Waiter {
 public:
  [[nodiscard]] std::int64_t monotonic_ns() const override;
  [[nodiscard]] std::int64_t wall_ns() const override;
  void wait(std::int64_t ns) override;
  void wake() override;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_awake_ = false;
};

}  // namespace signalbox
