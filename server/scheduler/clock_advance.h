// A clock that is a year ahead, as one whose battery is empty may be until it is set by the
// network, makes everything old at once. So what is removed by its age stays for another day after
// the clock went far ahead while the service wasn't there to watch it, or while it watched.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "store/event_log.h"

namespace signalbox {

namespace limits {
// How far the clock may go ahead from one record to the next before nothing is removed for a day. A
// service that was away for that long waits, too: nothing tells the one from the other.
inline constexpr std::int64_t clock_advance_ms_max = 30LL * 24 * 60 * 60 * 1000;
// For how long nothing is removed then, by the same clock.
inline constexpr std::int64_t clock_advance_grace_ms = 24LL * 60 * 60 * 1000;
}  // namespace limits

// Returns why nothing that is old by the clock may be removed at `now_ns` (UTC), and until when, as
// a sentence without a full stop; nullopt if it may.
Stored<std::optional<std::string>> describe_clock_advance(const EventLog& log, std::int64_t now_ns);

}  // namespace signalbox
