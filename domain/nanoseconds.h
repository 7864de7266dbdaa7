// Conversion factors to nanoseconds, the unit of times in the log. Durations in commands and
// configuration are milliseconds.
#pragma once

#include <cstdint>

namespace signalbox {

inline constexpr std::int64_t ns_per_ms = 1'000'000;
inline constexpr std::int64_t ns_per_s = 1'000'000'000;
inline constexpr std::int64_t ns_per_minute = 60 * ns_per_s;

}  // namespace signalbox
