// The bounds of one connection. `server.limits` tells them.
#pragma once

#include <cstddef>

namespace signalbox {

inline constexpr std::size_t line_bytes_max = 1024 * 1024;
// Unanswered commands of one connection; more are read when some are answered.
inline constexpr std::size_t commands_in_flight_max = 1024;
// A query's answer may be large and its work long, so of those fewer are taken at a time.
inline constexpr std::size_t queries_in_flight_max = 8;
inline constexpr std::size_t query_weight = commands_in_flight_max / queries_in_flight_max;
// Unsent answers of one connection; its next request is read when they are taken.
inline constexpr std::size_t outgoing_bytes_max = 4 * 1024 * 1024;
inline constexpr std::size_t connections_max = 4096;

}  // namespace signalbox
