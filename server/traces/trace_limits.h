// The bounds of the traces' way to a collector, by name and unit. `server.limits` tells them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace signalbox::limits {

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
