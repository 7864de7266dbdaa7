// The bounds of what is told of agents' logs, by name and unit. `server.limits` tells them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace signalbox::limits {

// How often a log that somebody follows is looked at.
inline constexpr std::int64_t agent_log_interval_ms_min = 250;
// Of one stream at one look; where more has come, its newest. Also what a subscriber gets of a log
// that is there already.
inline constexpr std::size_t agent_log_excerpt_bytes_max = 16 * 1024;
// Of all logs at one look: what is left has its turn first at the next one.
inline constexpr std::size_t agent_log_look_bytes_max = 1024 * 1024;
// Of all that one subscriber is told; it isn't told what is more.
inline constexpr std::size_t agent_log_subscriber_bytes_per_second_max = 256 * 1024;
// A subscriber who has more than this still to take is told no more of logs until it has taken it.
inline constexpr std::size_t agent_log_outgoing_bytes_max = 256 * 1024;

static_assert(agent_log_excerpt_bytes_max <= agent_log_subscriber_bytes_per_second_max);

}  // namespace signalbox::limits
