// The loops that the service itself drives, by name: no client may begin or end their ticks.
#pragma once

#include <string_view>

namespace signalbox {

inline constexpr std::string_view watchdog_loop_name = "watchdog";

constexpr bool is_own_loop(std::string_view loop) { return loop == watchdog_loop_name; }

}  // namespace signalbox
