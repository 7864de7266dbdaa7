// What operators have decided about a runner, a program on another machine that executes jobs.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>

#include "domain/event_parts.h"
#include "domain/ids.h"
#include "domain/runner_events.h"
#include "domain/transition.h"

namespace signalbox {

// Stored as a number in the world: append only.
enum class RunnerStanding : std::uint8_t {
  free = 1,     // nothing is decided about it; such a runner isn't in the world
  drained = 2,  // it gets no new jobs
  evicted = 3,  // it counts as gone for good
};
BOOST_DESCRIBE_ENUM(RunnerStanding, free, drained, evicted)

using RunnerTransition = Transition<RunnerStanding>;

// The transition table, drawn in README.md. evolve() aborts on a pair that isn't in it.
inline constexpr std::array runner_transitions = {
    RunnerTransition{RunnerStanding::free, RunnerDrained::tag, RunnerStanding::drained},
    RunnerTransition{RunnerStanding::free, RunnerEvicted::tag, RunnerStanding::evicted},
    RunnerTransition{RunnerStanding::drained, RunnerUndrained::tag, RunnerStanding::free},
    RunnerTransition{RunnerStanding::drained, RunnerEvicted::tag, RunnerStanding::evicted},
    RunnerTransition{RunnerStanding::evicted, RunnerReadmitted::tag, RunnerStanding::free},
};

// Returns the standing after the event of this number, or nullopt if the table has no such pair.
constexpr std::optional<RunnerStanding> next_standing(RunnerStanding from,
                                                      std::uint16_t event_number) {
  return next_in(runner_transitions, from, event_number);
}

// The decision in force about one runner.
struct RunnerDecision {
  RunnerStanding standing = RunnerStanding::free;  // never `free` in the world
  Position decided_at = 0;                         // position of the event that decided it

  friend bool operator==(const RunnerDecision&, const RunnerDecision&) = default;
};
BOOST_DESCRIBE_STRUCT(RunnerDecision, (), (standing, decided_at))

}  // namespace signalbox
