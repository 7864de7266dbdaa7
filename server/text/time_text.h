// Times and durations as text: RFC 3339 in UTC with nanoseconds, and "90s", "30m", "2h", "500ms".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace signalbox {

// Returns an RFC 3339 time such as "2026-11-20T11:05:00.000000123Z". `utc_ns` counts from 1970.
std::string format_time(std::int64_t utc_ns);
// Returns the end of a lease that began then, in the same form.
std::string lease_end_text(std::int64_t begun_ns, std::int64_t lease_ms);
// Parses an RFC 3339 time with up to nine fraction digits, and 'Z' or an offset. Returns
// nanoseconds since 1970; nullopt for bad syntax, for a date that the calendar doesn't have, and
// for a time that 64 bits can't hold.
std::optional<std::int64_t> parse_time(std::string_view text);

// Parses one whole number and its unit: ms, s, m, h or d. Returns milliseconds, or nullopt.
std::optional<std::int64_t> parse_duration_ms(std::string_view text);
// Returns the duration in the largest unit that is exact: "30m", "1500ms"; "0s" for 0.
std::string format_duration_ms(std::int64_t ms);

}  // namespace signalbox
