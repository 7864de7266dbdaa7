// The bounds of HTTP and TLS, beside those of a line. `server.limits` tells them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace signalbox {

inline constexpr std::size_t http_header_bytes_max = 16 * 1024;
// A request's header, from its first byte on: whoever sends a byte now and then is cut off.
inline constexpr std::int64_t http_header_ms_max = 10'000;
inline constexpr std::int64_t http_body_ms_max = 60'000;
// Between two requests of one connection.
inline constexpr std::int64_t http_idle_ms_max = 75'000;
// An answer, or a piece of a large one, that the peer doesn't take.
inline constexpr std::int64_t http_write_ms_max = 60'000;
// A TCP connection that hasn't said a byte.
inline constexpr std::int64_t first_byte_ms_max = 60'000;
inline constexpr std::int64_t tls_handshake_ms_max = 10'000;
inline constexpr std::int64_t tls_close_ms_max = 5'000;
// A comment in an event stream that has nothing else to say.
inline constexpr std::int64_t event_stream_heartbeat_ms_max = 15'000;

}  // namespace signalbox
