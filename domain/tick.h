// The state of a loop with a tick that is under way or incomplete, and its transition table.
//
// An idle loop has no state here.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>

#include "domain/event.h"
#include "domain/transition.h"

namespace signalbox {

enum class TickStatus : std::uint8_t {
  idle = 1,
  running = 2,
  timed_out = 3,  // the lease ended and the tick didn't
  halted = 4,     // a begin found the tick incomplete
};
BOOST_DESCRIBE_ENUM(TickStatus, idle, running, timed_out, halted)

using TickTransition = Transition<TickStatus>;

// The transition table, drawn in README.md. evolve() aborts on a pair that isn't in it.
inline constexpr std::array tick_transitions = {
    TickTransition{TickStatus::idle, TickStarted::tag, TickStatus::running},
    TickTransition{TickStatus::idle, TickSkipped::tag, TickStatus::idle},
    TickTransition{TickStatus::idle, TickIncompleteDetected::tag, TickStatus::halted},
    TickTransition{TickStatus::idle, TickMissed::tag, TickStatus::idle},
    TickTransition{TickStatus::running, TickSucceeded::tag, TickStatus::idle},
    TickTransition{TickStatus::running, TickFailed::tag, TickStatus::idle},
    TickTransition{TickStatus::running, TickSkipped::tag, TickStatus::running},
    TickTransition{TickStatus::running, TickMissed::tag, TickStatus::running},
    TickTransition{TickStatus::running, TickTimedOut::tag, TickStatus::timed_out},
    TickTransition{TickStatus::running, TickIncompleteDetected::tag, TickStatus::halted},
    TickTransition{TickStatus::running, TickRecovered::tag, TickStatus::idle},
    TickTransition{TickStatus::timed_out, TickIncompleteDetected::tag, TickStatus::halted},
    TickTransition{TickStatus::timed_out, TickMissed::tag, TickStatus::timed_out},
    TickTransition{TickStatus::timed_out, TickRecovered::tag, TickStatus::idle},
    TickTransition{TickStatus::halted, TickRecovered::tag, TickStatus::idle},
};

// Returns the status after the event of this number, or nullopt if the table has no such pair.
constexpr std::optional<TickStatus> next_status(TickStatus from, std::uint16_t event_number) {
  return next_in(tick_transitions, from, event_number);
}

// The schedule state of a loop.
struct Loop {
  std::string name;
  std::int64_t due_ns = 0;  // UTC; the latest due time for which there is an event
  Position changed_at = 0;  // position of that event

  friend bool operator==(const Loop&, const Loop&) = default;
};
BOOST_DESCRIBE_STRUCT(Loop, (), (name, due_ns, changed_at))

struct Tick {
  std::string loop;
  TickStatus status = TickStatus::idle;
  Token token = 0;                // 0: halted by a marker file that the log doesn't know
  std::uint64_t incarnation = 0;  // of the service when it granted the tick
  std::string stage;
  std::string reason;
  std::int64_t lease_ms = 0;
  std::int64_t started_at_ns = 0;
  RunId run_id{};
  std::string run_root;
  Token lock_token = 0;    // of the lock that it depends on while it runs, or 0
  Position halted_at = 0;  // position of its TickIncompleteDetected, or 0

  friend bool operator==(const Tick&, const Tick&) = default;
};
BOOST_DESCRIBE_STRUCT(Tick, (),
                      (loop, status, token, incarnation, stage, reason, lease_ms, started_at_ns,
                       run_id, run_root, lock_token, halted_at))

}  // namespace signalbox
