// Which events a station meets while it has an attempt, and which while it has none.
//
// `pending` and `running` tell that by themselves. `waiting` doesn't: a station waits between two
// attempts, or with an attempt that stalled, and each of the two has only some of the table's rows.
// This is that other half of the table; evolve() holds every station event against both.
#pragma once

#include <cstdint>

#include "domain/station.h"

namespace signalbox {

enum class AttemptPresence : std::uint8_t { none, one, either };

// What the event numbered so needs of the station that it happens to.
constexpr AttemptPresence attempt_presence(std::uint16_t event_number) {
  switch (event_number) {
    case StationClaimed::tag.number:
    case StationReady::tag.number:
    case StationHeld::tag.number:
    case StationApproved::tag.number:
    case StationRejected::tag.number:
      return AttemptPresence::none;
    case StationCanceled::tag.number:
      return AttemptPresence::either;
    default:
      return AttemptPresence::one;
  }
}

constexpr bool may_happen(std::uint16_t event_number, bool has_attempt) {
  const AttemptPresence needed = attempt_presence(event_number);
  return needed == AttemptPresence::either || has_attempt == (needed == AttemptPresence::one);
}

// Where a status tells it, the table has only rows that may happen.
static_assert([] {
  for (const StationTransition& row : station_transitions) {
    if (row.from == StationStatus::pending && !may_happen(row.on.number, false)) return false;
    if (row.from == StationStatus::running && !may_happen(row.on.number, true)) return false;
  }
  return true;
}());

}  // namespace signalbox
