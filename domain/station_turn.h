// The checks when a station becomes the current one: an approval, or a used-up budget, holds it
// until a person decides. Several decisions and evolve() need them, so they are apart from
// decide_station.cc.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "domain/decide.h"

namespace signalbox {

// INVALID_PARAMS if a figure is negative or exceeds limits::usage_max.
Decided<void> validate(const Budget& budget);
Decided<void> validate(const Usage& usage);

// Returns whether the wait ends by a person's decision and not by a time or progress.
constexpr bool waits_for_person(WaitReason reason) {
  switch (reason) {
    case WaitReason::approval:
    case WaitReason::budget:
      return true;
    case WaitReason::backoff:
    case WaitReason::deferred:
    case WaitReason::stalled:
    case WaitReason::quota:
      return false;
  }
  return false;
}

// Returns whether the current station waits for a person's decision: an approval station, or one
// whose attempt asked for an approval, be it under way or over with success.
bool waits_for_decision(const Run& run);

// Returns whether the attempt under way has asked for an approval that nobody has given yet.
bool asks_approval(const Run& run);

// Returns whether a person has rejected what the attempt under way asked for, and its job is being
// ended.
bool is_rejected(const Run& run);

// Returns the StationUsageReported of the attempt under way, to be committed before the events that
// end it, or no event if nothing was used.
NewEvents usage_report(const Run& run, const Usage& usage);

// Returns the first figure of which `used` has reached the bound in `budget`: "cost", "tokens" or
// "turns". Returns nullopt if there is none.
std::optional<std::string> exhausted(const Budget& budget, const Usage& used);

// Returns the event that holds `station` for a person when it becomes the current one, or nullopt.
// An approval is always held, every other station if the run has used up its budget.
std::optional<StationHeld> held_at_turn(const StationDefinition& station, const Budget& budget,
                                        const Usage& used);

// Returns the events that follow the success of `run`'s current station: the run's success, a
// StationHeld for the next station, or none. `used` is the run's total usage after the station.
NewEvents after_success(const Run& run, const Usage& used, Position cause);

// Returns the event that ends the wait of `run`'s current station for a time, early or when it is
// over: a StationReady, or a StationHeld. Returns no event if it doesn't wait for a time.
NewEvents end_of_wait(const Run& run);

// Returns the rest of `budget` after `used`; 0 for a figure without a bound. No figure may be
// exhausted.
Budget remaining_budget(const Budget& budget, const Usage& used);

// Returns e.g. "12 of 10 turns", for the figures that have a limit.
std::string budget_text(const Budget& budget, const Usage& used);

// Returns the flags of `run resume` for a budget that raises each exhausted figure by its old
// bound.
std::string raised_budget_flags(const Budget& budget, const Usage& used);

// Returns the commands that decide what `run` waits for. They name the station and the question, so
// that they don't apply to another one.
std::vector<std::string> decision_commands(const Run& run);

Usage operator+(const Usage& left, const Usage& right);

}  // namespace signalbox
