// A span of a run's trace: what was under way from when to when, and what happened meanwhile.
//
// Plain values; how a collector wants them written is the business of
// server/followers/traces/otlp_json.h.
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
// Of one span; what happened beyond it is counted.
inline constexpr std::size_t trace_span_events_max = 128;
}  // namespace limits

// Eight bytes, never all zero.
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

enum class SpanKind : std::uint8_t { run, attempt, step };
enum class SpanStatus : std::uint8_t { unset, ok, error };

struct TraceSpan {
  SpanKind kind = SpanKind::run;
  RunId trace_id{};  // the run's id
  SpanId span_id;
  SpanId parent;  // none: it is the root
  std::string name;
  std::int64_t started_at_ns = 0;  // UTC
  std::int64_t ended_at_ns = 0;    // likewise; 0: under way
  SpanAttributes attributes;
  std::vector<SpanEvent> events;
  std::uint32_t events_dropped = 0;
  std::vector<SpanId> links;  // of the same trace: the attempt that this one is a retry of
  SpanStatus status = SpanStatus::unset;
  std::string status_message;  // of an error

  friend bool operator==(const TraceSpan&, const TraceSpan&) = default;
};

// The ids follow from what the log says, so whoever makes a span again makes the same one.

// Of a run, from its start or, where it was retried, from that position on.
SpanId run_span_id(const RunId& run_id, Position retried_at);
// Of an attempt, by its own span id. It is what TRACEPARENT tells the attempt's job.
SpanId attempt_span_id(const Uuid& span_id);
// Of an attempt at a step, by the position where it began.
SpanId step_span_id(const RunId& run_id, Position token);

}  // namespace signalbox
