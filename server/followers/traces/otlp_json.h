// Renders spans as OTLP/JSON (opentelemetry-proto 1.x, ExportTraceServiceRequest): ids in
// hexadecimal, 64 bit numbers as strings, enums as numbers.
//
// Source: https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding
#pragma once

#include <span>
#include <string>

#include <boost/json/object.hpp>

#include "projections/trace_span.h"

namespace signalbox {

// Identifies this service as the sender (OpenTelemetry resource). It is the same after a restart.
struct TraceResource {
  std::string service_name = "signalbox";
  std::string instance_id;  // service.instance.id
  std::string host_name;
};

// Returns the resource of the service with this data directory on this host. Its instance id is a
// UUID derived from both.
TraceResource trace_resource(std::string service_name, const std::string& data_directory);

std::string hex_trace_id(const RunId& run_id);  // 32 digits
std::string hex_span_id(const SpanId& id);      // 16 digits

// Returns the OTLP Span message of `span`.
boost::json::object span_to_otlp(const TraceSpan& span);

// Returns the body of one export request. `spans` are serialized results of span_to_otlp().
std::string otlp_request(const TraceResource& resource, std::span<const std::string> spans);

}  // namespace signalbox
