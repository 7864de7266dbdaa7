// Notices that time didn't go by as it should have: the wall clock was set, the machine slept, or
// this process was stopped. Then a deadline says nothing about whether its holder was given the
// time, and all are set anew.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace signalbox {

struct ClockJump {
  std::int64_t wall_ms = 0;       // that went by on the wall clock since the check before
  std::int64_t monotonic_ms = 0;  // and on the monotonic one
  std::string cause;              // "wall clock set" or "stopped"
};

class ClockWatch {
 public:
  // A check is due this often.
  static constexpr std::int64_t interval_ns = 1'000'000'000;
  // What the clocks may part by, and a check may be late.
  static constexpr std::int64_t tolerance_ns = 1'000'000'000;

  ClockWatch(std::int64_t wall_ns, std::int64_t monotonic_ns)
      : wall_ns_(wall_ns), monotonic_ns_(monotonic_ns) {}

  // Compares with the check before.
  std::optional<ClockJump> check(std::int64_t wall_ns, std::int64_t monotonic_ns);

  // When the next check is due (monotonic, ns).
  [[nodiscard]] std::int64_t next_poll_ns() const { return monotonic_ns_ + interval_ns; }

 private:
  std::int64_t wall_ns_;
  std::int64_t monotonic_ns_;
};

}  // namespace signalbox
