// Somebody sets the wall clock, or the server gets no processor for a while: it has to notice, and
// say so in the log, soon after.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <optional>

#include "domain/event.h"
#include "tests/simulation/environment.h"

namespace signalbox::simulation {

class ClockCheck {
 public:
  explicit ClockCheck(Environment& environment) : environment_(environment) {}

  // The wall clock was set, or the server stopped; it runs again at `running_at_ns` (monotonic).
  void parted(std::int64_t by_ns, std::int64_t running_at_ns) {
    // Two of them may take each other back.
    const bool is_certain = !due_ns_ && std::abs(by_ns) > certain_ns &&
                            environment_.schedule.monotonic_ns() >= alone_from_ns_;
    due_ns_ = is_certain ? std::optional(running_at_ns + patience_ns) : std::nullopt;
    alone_from_ns_ = running_at_ns + patience_ns;
  }
  // A server that is gone, stopping or without space has nothing to say.
  void excused() { due_ns_.reset(); }
  void applied(const Record& record) {
    if (event_as<ClockJumped>(record.event) != nullptr) due_ns_.reset();
  }
  void examine() {
    environment_.expect(!due_ns_ || environment_.schedule.monotonic_ns() < *due_ns_,
                        "time didn't go by as it should have, and nothing says so");
  }

 private:
  // Between looks that are a second apart, two clocks that part by a second in all.
  static constexpr std::int64_t certain_ns = 2'100 * ns_per_ms;
  static constexpr std::int64_t patience_ns = 4'000 * ns_per_ms;

  Environment& environment_;
  std::optional<std::int64_t> due_ns_;
  std::int64_t alone_from_ns_ = 0;  // those before have been seen by then
};

}  // namespace signalbox::simulation
