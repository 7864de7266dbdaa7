// Usage limits in an agent's own words: whether a text tells of one, and until when.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace signalbox {

// Of what an agent says went wrong; never of its work, which may be about such texts.
bool tells_of_usage_limit(const std::string& text);

// Seconds since 1970 as UTC nanoseconds; nothing where they are none that a clock can show.
std::optional<std::int64_t> utc_ns_of_epoch(std::int64_t seconds);

// When the limit is over, UTC, if the text says so: "limit reached|1762952400", resets_at and
// resets_in_seconds as in JSON, "try again in 3 hours 2 minutes", "resets 1:30am (Asia/Dhaka)",
// "resets Oct 9, 5pm (UTC)". A time of day is the next one after `now_ns`, in the zone that is
// named or else in the machine's own. Single-threaded callers only: it may set TZ for a moment.
std::optional<std::int64_t> usage_limit_reset_at_ns(const std::string& text, std::int64_t now_ns);

}  // namespace signalbox
