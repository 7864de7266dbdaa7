// Moments of the log, as people and programs name them: a position, an RFC 3339 time, or an age.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "domain/error.h"
#include "store/event_log.h"

namespace signalbox {

// Returns the position of the last event at or before a moment; 0 if there was none. `moment` is a
// position, an RFC 3339 time or an age ("90m") counted from `now_ns` (UTC). INVALID_PARAMS for
// anything else, POSITION_NOT_FOUND for a position beyond the end, and for a time after the last
// event that is more than clock_difference_ms_max after `now_ns`: events until then may still come.
// HISTORY_DROPPED for a position before the horizon, STORAGE_DAMAGED if the log can't be read.
// Blocks while it reads the log.
Decided<Position> find_moment(const EventLog& log, std::string_view moment, std::int64_t now_ns);

// Returns the position whose state a query shows that is asked about a moment. An age that is
// older than the log is the log's first event. Fails like find_moment(), also with
// POSITION_NOT_FOUND for a position or a time before the first event, and with HISTORY_DROPPED for
// one whose state isn't known any more.
Decided<Position> find_shown_moment(const EventLog& log, std::string_view moment,
                                    std::int64_t now_ns);

// Returns the nanoseconds since the epoch, UTC, of an RFC 3339 time or an age; nullopt for anything
// else.
std::optional<std::int64_t> parse_time_or_age(std::string_view text, std::int64_t now_ns);

}  // namespace signalbox
