// Recognizes usage limits in the text of an agent's errors, and the time at which they end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace signalbox {

// A time that is less than this over isn't the next day's, and may not be over by the provider's
// clock.
inline constexpr std::int64_t just_over_s = 600;

// Returns whether an error message reports a usage limit. Pass only error messages: the text of the
// agent's work may discuss such limits.
bool mentions_usage_limit(const std::string& text);

// Converts seconds since the Unix epoch to UTC nanoseconds; nullopt if they are not positive or out
// of range.
std::optional<std::int64_t> utc_ns_of_epoch(std::int64_t seconds);

// Returns the UTC time in nanoseconds at which the limit ends, if the text names it. Known forms:
// "limit reached|1762952400", resets_at and resets_in_seconds as in JSON, RFC 3339, "try again in 3
// hours 2 minutes", "resets 1:30am (Asia/Dhaka)", "resets Oct 9, 5pm (UTC)". A time of day is the
// next one after `now_ns`, in the named zone or else in the machine's own; one that is less than
// ten minutes over is the end of its minute. Single-threaded callers only: it may set TZ
// temporarily.
std::optional<std::int64_t> usage_limit_reset_at_ns(const std::string& text, std::int64_t now_ns);

}  // namespace signalbox
