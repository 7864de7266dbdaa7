// Detects clock jumps: the wall clock was set, the machine slept, or this process was stopped.
// After a jump a deadline doesn't show whether its holder had the time, so all are restarted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace signalbox {

struct ClockJump {
  std::int64_t wall_ms = 0;       // elapsed on the wall clock since the previous check
  std::int64_t monotonic_ms = 0;  // elapsed on the monotonic clock since then
  std::string cause;              // "wall clock set" or "stopped"
};

class ClockWatch {
 public:
  // Time between two checks.
  static constexpr std::int64_t interval_ns = 1'000'000'000;
  // How far the two clocks may differ, and how late a check may be, without being a jump.
  static constexpr std::int64_t tolerance_ns = 1'000'000'000;

  ClockWatch(std::int64_t wall_ns, std::int64_t monotonic_ns)
      : wall_ns_(wall_ns), monotonic_ns_(monotonic_ns) {}

  // Compares both clocks with the previous check. Returns the jump; nullopt if there was none.
  std::optional<ClockJump> check(std::int64_t wall_ns, std::int64_t monotonic_ns);

  // Returns when the next check is due (monotonic, ns).
  [[nodiscard]] std::int64_t next_poll_ns() const { return monotonic_ns_ + interval_ns; }

 private:
  std::int64_t wall_ns_;
  std::int64_t monotonic_ns_;
};

}  // namespace signalbox
