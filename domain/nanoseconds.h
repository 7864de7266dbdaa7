// How many nanoseconds: times in the log are nanoseconds, times that people write are not.
#pragma once

#include <cstdint>

namespace signalbox {

inline constexpr std::int64_t ns_per_ms = 1'000'000;
inline constexpr std::int64_t ns_per_s = 1'000'000'000;

}  // namespace signalbox
