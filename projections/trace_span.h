// A span of a run's trace: an interval of work and the events within it.
//
// These are plain values; server/followers/traces/otlp_json.h encodes them for a collector.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "domain/ids.h"

namespace signalbox {

namespace limits {
// Per span; events beyond it are only counted.
inline constexpr std::size_t trace_span_events_max = 128;
}  // namespace limits

// A W3C Trace Context span id: eight bytes, never all zero for a valid one.
struct SpanId {
  std::array<std::uint8_t, 8> bytes{};

  [[nodiscard]] bool is_none() const { return *this == SpanId{}; }
  friend auto operator<=>(const SpanId&, const SpanId&) = default;
};

using SpanAttribute = std::pair<std::string, std::variant<std::string, std::int64_t>>;
using SpanAttributes = std::vector<SpanAttribute>;

struct SpanEvent {
  std::string name;
  std::int64_t at_ns = 0;  // UTC
  SpanAttributes attributes;

  friend bool operator==(const SpanEvent&, const SpanEvent&) = default;
};

// `usage`: what an attempt has used up that was told after its end; it has no length.
enum class SpanKind : std::uint8_t { run, attempt, step, usage };
enum class SpanStatus : std::uint8_t { unset, ok, error };

struct TraceSpan {
  SpanKind kind = SpanKind::run;
  RunId trace_id{};  // the run's id
  SpanId span_id;
  SpanId parent;  // none: this is the root span
  std::string name;
  std::int64_t started_at_ns = 0;  // UTC
  std::int64_t ended_at_ns = 0;    // UTC; 0: in progress
  SpanAttributes attributes;
  std::vector<SpanEvent> events;
  // Number of events beyond limits::trace_span_events_max.
  std::uint32_t events_dropped = 0;
  std::vector<SpanId> links;  // in the same trace: the attempt that this one retries
  SpanStatus status = SpanStatus::unset;
  std::string status_message;  // for an error

  friend bool operator==(const TraceSpan&, const TraceSpan&) = default;
};

// Span ids are derived from the log, so that recomputing a span gives the same id.

// Returns the span id of a run; for a retry, `retried_at` is its position, else 0.
SpanId run_span_id(const RunId& run_id, Position retried_at);
// Returns the span id of an attempt, derived from its record's span id. TRACEPARENT passes it to
// the attempt's job.
SpanId attempt_span_id(const Uuid& span_id);
// Returns the span id of an attempt at a step; `token` is the position of its start.
SpanId step_span_id(const RunId& run_id, Position token);
// Returns the span id of an attempt's usage that was told at `position`, after the attempt's end.
SpanId usage_span_id(const RunId& run_id, Position position);

}  // namespace signalbox
