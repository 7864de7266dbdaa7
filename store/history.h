// Converts events that were stored in older versions to the current one: the frozen shapes of a
// type, and the pure functions that convert each to the next.
//
// Internal, like described_archive.h. The procedure is in FORMAT.md, "Changing a stored event":
//
//   struct StationClaimedV1 { … };                         // the old struct and its listing,
//   frozen StationClaimed upcast(StationClaimedV1 old);           // pure; found by its argument
//   template <> struct History<StationClaimed> { using Frozen = std::tuple<StationClaimedV1>; };
//
// Versions start at 1 and have no gaps: Frozen lists 1, 2, …, and the event itself is the last.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

#include "store/described_archive.h"

namespace signalbox {

template <class CurrentEvent>
struct History {
  using Frozen = std::tuple<>;
};

namespace described {

template <class CurrentEvent, class Old>
CurrentEvent bring_up_to_date(Old old) {
  if constexpr (std::is_same_v<Old, CurrentEvent>) {
    return old;
  } else {
    return bring_up_to_date<CurrentEvent>(upcast(std::move(old)));
  }
}

// Reads `version` (from 1 to the current one) of an event and converts it to the current version in
// `event`.
template <class CurrentEvent, std::size_t Index = 0>
void read_version(std::uint16_t version, Reader& reader, CurrentEvent& event) {
  using Frozen = typename History<CurrentEvent>::Frozen;
  static_assert(std::tuple_size_v<Frozen> + 1 == CurrentEvent::tag.version,
                "one frozen struct for each version before the current one");
  if constexpr (Index == std::tuple_size_v<Frozen>) {
    reader.read(event);
  } else if (version == Index + 1) {
    std::tuple_element_t<Index, Frozen> old{};
    reader.read(old);
    event = bring_up_to_date<CurrentEvent>(std::move(old));
  } else {
    read_version<CurrentEvent, Index + 1>(version, reader, event);
  }
}

}  // namespace described
}  // namespace signalbox
