// Spans as OTLP/JSON (opentelemetry-proto 1.x, ExportTraceServiceRequest): ids in hexadecimal, 64
// bit numbers as strings, enums as numbers.
//
// https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding
#pragma once

#include <span>
#include <string>

#include <boost/json/object.hpp>

#include "projections/trace_span.h"

namespace signalbox {

// Who tells it; the same from one start to the next.
struct TraceResource {
  std::string service_name = "signalbox";
  std::string instance_id;  // service.instance.id
  std::string host_name;
};

// The id of the service that serves this data directory on this host: a UUID that follows from
// both.
TraceResource trace_resource(std::string service_name, const std::string& data_directory);

std::string hex_trace_id(const RunId& run_id);  // 32 digits
std::string hex_span_id(const SpanId& id);      // 16 digits

boost::json::object span_to_otlp(const TraceSpan& span);

// A whole request, of spans as span_to_otlp gives them, serialized.
std::string otlp_request(const TraceResource& resource, std::span<const std::string> spans);

}  // namespace signalbox
