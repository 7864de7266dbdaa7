// Times and durations as people read them: short, and rounded.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace signalbox {

// "850ms", "4.2s", "3m 05s", "2h 14m", "5d 3h".
std::string short_duration(std::int64_t ns);

// How long before `now_ns` an RFC 3339 time was: "4s ago"; empty for no time.
std::string short_age(std::string_view time, std::int64_t now_ns);

// From one RFC 3339 time to another; empty unless both are there.
std::string short_span(std::string_view from, std::string_view to);

// An RFC 3339 time in the local time zone: "14:05:02.120", with the day before it unless that is
// the day of `now_ns`.
std::string clock_time(std::string_view time, std::int64_t now_ns);

// UTC, from the system's clock.
std::int64_t wall_clock_ns();

// "14:05:02.120 (4s ago)"; "" where there is no time.
std::string moment_text(const std::string& time, std::int64_t now_ns);

}  // namespace signalbox
