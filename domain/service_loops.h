// The names of the loops that the service itself drives. No client may begin or end their ticks.
#pragma once

#include <string_view>

namespace signalbox {

inline constexpr std::string_view watchdog_loop_name = "watchdog";
inline constexpr std::string_view heartbeat_loop_name = "heartbeat";
inline constexpr std::string_view synthesizer_loop_name = "synthesizer";
inline constexpr std::string_view prune_loop_name = "prune";
inline constexpr std::string_view retention_loop_name = "retention";
inline constexpr std::string_view file_retention_loop_name = "file_retention";

constexpr bool is_service_loop(std::string_view loop) {
  return loop == watchdog_loop_name || loop == heartbeat_loop_name ||
         loop == synthesizer_loop_name || loop == prune_loop_name || loop == retention_loop_name ||
         loop == file_retention_loop_name;
}

}  // namespace signalbox
