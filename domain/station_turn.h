// What comes up when a station's turn has come: some can't be claimed before a person was asked.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "domain/decide.h"

namespace signalbox {

// INVALID_PARAMS if a figure is negative or beyond limits::usage_max, else nothing.
Decided<void> validate(const Budget& budget);
Decided<void> validate(const Usage& usage);

constexpr bool waits_for_a_person(WaitReason reason) {
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

// "cost", "tokens" or "turns", if `used` has reached what `budget` allows of it; else nothing.
std::optional<std::string> exhausted(const Budget& budget, const Usage& used);

// The event that makes `station` of a run wait for a person when its turn comes, or nothing: an
// approval always waits, and every other station where the run has used up its budget.
std::optional<StationHeld> held_at_turn(const StationDefinition& station, const Budget& budget,
                                        const Usage& used);

// To follow the success of `run`'s current station, after which `used` is what it used in all: the
// end of the run, or what keeps its next station from being claimed, or nothing.
NewEvents after_success(const Run& run, const Usage& used, Position cause);

// What `used` leaves of `budget`; 0 where there is no bound. Nothing may be exhausted.
Budget left_of(const Budget& budget, const Usage& used);

// The flags of `run resume` for a budget that allows as much again of what is used up.
std::string raised_budget_flags(const Budget& budget, const Usage& used);

// The commands that decide the approval `run` waits for: about this station and no other.
std::vector<std::string> decision_commands(const Run& run);

Usage operator+(const Usage& left, const Usage& right);

}  // namespace signalbox
