// What the transition tables of the nouns consist of.
#pragma once

#include <cstdint>
#include <optional>

#include "domain/event_parts.h"

namespace signalbox {

template <class Status>
struct Transition {
  Status from;
  EventTag on;
  Status to;
};

// Returns the status after the event of this number, or nullopt if the table has no such pair.
template <class Status, class Table>
constexpr std::optional<Status> next_in(const Table& table, Status from,
                                        std::uint16_t event_number) {
  for (const Transition<Status>& row : table) {
    if (row.from == from && row.on.number == event_number) return row.to;
  }
  return std::nullopt;
}

}  // namespace signalbox
