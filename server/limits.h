// Every bound of the server by name and unit; domain/limits.h has those of commands. The method
// `server.limits` reports them all.
#pragma once

#include <cstddef>
#include <cstdint>

namespace signalbox {

// One connection.
inline constexpr std::size_t line_bytes_max = 1024 * 1024;
// Unanswered commands of one connection; more are read when some are answered.
inline constexpr std::size_t commands_in_flight_max = 1024;
// A query's answer may be large and its work long, so of those fewer are taken at a time.
inline constexpr std::size_t queries_in_flight_max = 8;
inline constexpr std::size_t query_weight = commands_in_flight_max / queries_in_flight_max;
// Unsent answers of one connection; its next request is read when they are taken.
inline constexpr std::size_t outgoing_bytes_max = 4 * 1024 * 1024;
inline constexpr std::size_t connections_max = 4096;

// HTTP and TLS.
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

namespace signalbox::limits {

// Work with git.
// One call of git. After it its whole process group is ended.
inline constexpr std::int64_t git_ms_max = 10LL * 60 * 1000;
// Of that, between TERM and KILL: git takes its lock files away.
inline constexpr std::int64_t git_grace_ms_max = 2000;
// How long a worktree operation waits for another one in the same repository.
inline constexpr std::int64_t repository_wait_ms_max = 60 * 1000;
// One call of git by the server itself, when it removes a worktree.
inline constexpr std::int64_t removal_git_ms_max = 2LL * 60 * 1000;
// How long a push waits for the server's word.
inline constexpr std::int64_t fence_check_ms_max = 10 * 1000;

// Logs of agents, as subscribers get them.
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

// The way of traces to a collector.
// One request to the collector: whichever is reached first.
inline constexpr std::size_t trace_batch_spans_max = 512;
inline constexpr std::size_t trace_batch_bytes_max = 1024 * 1024;
// Events of the log that are read for one batch, spans or not.
inline constexpr std::size_t trace_batch_events_max = 64 * 1024;
// Runs under way whose spans are held ready; those of more are read from the log again.
inline constexpr std::size_t trace_open_runs_max = 1024;
// How long one request may take.
inline constexpr std::int64_t trace_request_ms_max = 10'000;
// Between two tries: doubled each time, up to this; a collector that names a time is believed up to
// the second.
inline constexpr std::int64_t trace_backoff_ms_min = 500;
inline constexpr std::int64_t trace_backoff_ms_max = 60'000;
inline constexpr std::int64_t trace_retry_after_ms_max = 10 * 60'000;
// Tries of a batch that the collector itself fails at (500), until it is given up.
inline constexpr int trace_failing_tries_max = 8;
inline constexpr std::size_t trace_headers_bytes_max = 16 * 1024;
// All that a system trusts has a quarter of a megabyte.
inline constexpr std::size_t trace_certificates_bytes_max = 4 * 1024 * 1024;
inline constexpr std::int64_t trace_backfill_ms_max = 366LL * 24 * 60 * 60 * 1000;

}  // namespace signalbox::limits
