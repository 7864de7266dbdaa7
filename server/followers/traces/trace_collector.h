// Sends one request of spans to a collector over OTLP/HTTP, and classifies its response.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "server/followers/traces/trace_settings.h"
#include "server/platform/http_request.h"

namespace signalbox {

struct TraceDelivery {
  enum class Outcome {
    taken,    // the collector accepted all spans but `rejected`
    again,    // retryable: the same request is to be sent again later
    failing,  // a server error (5xx) that this very request may cause: a few retries are worth it
    refused,  // permanent: the spans are dropped
  };
  Outcome outcome = Outcome::taken;
  std::uint64_t rejected = 0;            // spans, in a partial success
  std::string message;                   // for a person; empty if all was taken
  std::optional<std::int64_t> after_ms;  // Retry-After, at most limits::trace_retry_after_ms_max

  friend bool operator==(const TraceDelivery&, const TraceDelivery&) = default;
};

// Classifies a response as the OTLP specification does (section "OTLP/HTTP Response"), with one
// exception: 5xx other than 502, 503 and 504 are `failing` instead of final, because collectors
// answer with them while they restart.
TraceDelivery judge_collector_response(const HttpResponse& response);

// Posts `body` to settings.endpoint and returns how the collector responded; a failed connection is
// `again`. Blocks for at most settings.request_ms, or until `is_canceled` returns true.
TraceDelivery deliver_spans(const TraceSettings& settings, const std::string& body,
                            const std::function<bool()>& is_canceled);

}  // namespace signalbox
