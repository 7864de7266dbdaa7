// Checks that the server reports a clock jump in the log soon after the wall clock was set or the
// server got no processor for a while.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>

#include "domain/event.h"
#include "tests/simulation/environment.h"

namespace signalbox::simulation {

class ClockCheck {
 public:
  explicit ClockCheck(Environment& environment) : environment_(environment) {}

  // Notes that the wall clock was set by `by_ns`, or that the server stopped for that long. The
  // server runs again at `running_at_ns` (monotonic).
  void clock_jumped(std::int64_t by_ns, std::int64_t running_at_ns) {
    // The clock may be set while the server has stopped for longer.
    running_at_ns_ = std::max(running_at_ns_, running_at_ns);
    // Two jumps shortly after one another may cancel out, so only a single one must be reported.
    const bool is_certain = !due_ns_ && std::abs(by_ns) > certain_ns &&
                            environment_.schedule.monotonic_ns() >= alone_from_ns_;
    due_ns_ = is_certain ? std::optional(running_at_ns_ + patience_ns) : std::nullopt;
    alone_from_ns_ = running_at_ns_ + patience_ns;
  }
  // Drops the expectation: a server that is gone, stopping or out of disk space reports nothing.
  void excused() { due_ns_.reset(); }
  // Clears the expectation once the jump is in the log.
  void applied(const Record& record) {
    if (event_as<ClockJumped>(record.event) != nullptr) due_ns_.reset();
  }
  // Reports a violation if the jump is overdue.
  void examine() {
    environment_.expect(!due_ns_ || environment_.schedule.monotonic_ns() < *due_ns_,
                        "time didn't go by as it should have, and nothing says so");
  }

 private:
  // The server compares the clocks every second and tolerates a second of difference, so anything
  // beyond this is certain to be noticed.
  static constexpr std::int64_t certain_ns = 2'100 * ns_per_ms;
  static constexpr std::int64_t patience_ns = 2'000 * ns_per_ms;

  Environment& environment_;
  std::int64_t running_at_ns_ = 0;  // monotonic; the server runs from then on
  std::optional<std::int64_t> due_ns_;
  std::int64_t alone_from_ns_ = 0;  // monotonic; jumps before this are reported by then
};

}  // namespace signalbox::simulation
