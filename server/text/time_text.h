// Times and durations as text: RFC 3339 in UTC with nanoseconds, and "90s", "30m", "2h", "500ms".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace signalbox {

// "2026-11-20T11:05:00.000000123Z".
std::string format_time(std::int64_t utc_ns);
// Accepts any number of fraction digits up to nine, 'Z' or an offset.
std::optional<std::int64_t> parse_time(std::string_view text);

// In milliseconds. The unit is ms, s, m, h or d, and there is one number before it.
std::optional<std::int64_t> parse_duration_ms(std::string_view text);
// The shortest exact form: "30m", "1500ms".
std::string format_duration_ms(std::int64_t ms);

}  // namespace signalbox
