// One request of spans to a collector over OTLP/HTTP, and what its answer means.
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
    taken,    // all but `rejected`
    again,    // not now; the very same later
    failing,  // the collector's own fault, which may be about this request
    refused,  // never: what was sent is dropped
  };
  Outcome outcome = Outcome::taken;
  std::uint64_t rejected = 0;            // spans of a partial success
  std::string message;                   // for a person, unless all was taken
  std::optional<std::int64_t> after_ms;  // as the collector asked, at most what limits allow

  friend bool operator==(const TraceDelivery&, const TraceDelivery&) = default;
};

// As the OTLP specification has it (OTLP/HTTP response); of 5xx other than 502, 503 and 504 it says
// that they aren't tried again, but they come from collectors that restart: that is `failing`.
TraceDelivery judge_collector_response(const HttpResponse& response);

// Blocks, at most settings.request_ms, or until `given_up` says so.
TraceDelivery deliver_spans(const TraceSettings& settings, const std::string& body,
                            const std::function<bool()>& given_up);

}  // namespace signalbox
