// Formats times and durations for people: short, and rounded. Also numbers of things.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace signalbox {

// Returns "850ms", "4.2s", "3m 05s", "2h 14m", "5d 3h".
std::string short_duration(std::int64_t ns);

// Returns how long before `now_ns` an RFC 3339 time was: "4s ago", or "now" for less than a second.
// Empty if `time` is none.
std::string short_age(std::string_view time, std::int64_t now_ns);

// Returns the duration from one RFC 3339 time to another; empty unless both can be parsed.
std::string short_span(std::string_view from, std::string_view to);

// Returns an RFC 3339 time in the local time zone with its offset from UTC: "14:05:02.120+02", in
// UTC "12:05:02.120Z"; preceded by the date unless it is that of `now_ns`. Returns `time` unchanged
// if it can't be parsed.
std::string clock_time(std::string_view time, std::int64_t now_ns);

// Returns the same without seconds: "14:05+02".
std::string clock_minutes(std::string_view time, std::int64_t now_ns);

// Returns clock_time() in the zone of this IANA name; in the local one if this machine doesn't know
// it.
std::string clock_time_in(std::string_view zone, std::string_view time, std::int64_t now_ns);

// Returns nanoseconds since the Unix epoch (UTC), from the system clock.
std::int64_t wall_clock_ns();

// Returns "14:05:02.120+02 (4s ago)", or "" for an empty time.
std::string moment_text(const std::string& time, std::int64_t now_ns);

// Returns "1 file", "2 files", "2 branches".
std::string number_of(std::uint64_t number, const std::string& noun);

}  // namespace signalbox
