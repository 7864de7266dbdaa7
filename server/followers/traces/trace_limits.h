// The bounds of the export of traces to a collector (OTLP), each with its unit in its name. The
// method `server.limits` reports all of them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace signalbox::limits {

// Size of one request to the collector; the bound that is reached first applies.
inline constexpr std::size_t trace_batch_spans_max = 512;
inline constexpr std::size_t trace_batch_bytes_max = 1024 * 1024;
// Events of the log that are read for one batch, whether they yield spans or not.
inline constexpr std::size_t trace_batch_events_max = 64 * 1024;
// Open runs whose spans are kept in memory; those of further runs are read from the log again.
inline constexpr std::size_t trace_open_runs_max = 1024;
// Time for one request.
inline constexpr std::int64_t trace_request_ms_max = 10'000;
// Delay between two attempts: doubled each time, from the first bound up to the second.
inline constexpr std::int64_t trace_backoff_ms_min = 500;
inline constexpr std::int64_t trace_backoff_ms_max = 60'000;
// The longest Retry-After of a collector that is honoured.
inline constexpr std::int64_t trace_retry_after_ms_max = 10 * 60'000;
// Attempts at a batch that the collector itself fails on (500), before the batch is given up.
inline constexpr int trace_failing_tries_max = 8;
inline constexpr std::size_t trace_headers_bytes_max = 16 * 1024;
// A system's whole bundle of trusted certificates has about a quarter of a megabyte.
inline constexpr std::size_t trace_certificates_bytes_max = 4 * 1024 * 1024;
inline constexpr std::int64_t trace_backfill_ms_max = 366LL * 24 * 60 * 60 * 1000;

}  // namespace signalbox::limits
