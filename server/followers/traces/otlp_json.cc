#include "server/followers/traces/otlp_json.h"

#include <algorithm>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "server/platform/host_name.h"
#include "server/platform/program_version.h"
#include "store/sha256.h"

namespace signalbox {
namespace {

namespace json = boost::json;

// From opentelemetry.proto.trace.v1: SPAN_KIND_INTERNAL; STATUS_CODE_UNSET, _OK, _ERROR.
constexpr int otlp_kind_internal = 1;
constexpr int otlp_code(SpanStatus status) {
  switch (status) {
    case SpanStatus::unset:
      return 0;
    case SpanStatus::ok:
      return 1;
    case SpanStatus::error:
      return 2;
  }
  return 0;
}

template <class Bytes>
std::string hex_digits_of(const Bytes& bytes) {
  static constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : bytes) {
    text.push_back(digits[byte >> 4U]);
    text.push_back(digits[byte & 0x0FU]);
  }
  return text;
}

json::object otlp_attribute(const SpanAttribute& attribute) {
  json::object value;
  if (const auto* text = std::get_if<std::string>(&attribute.second)) {
    value["stringValue"] = *text;
  } else {
    value["intValue"] = std::to_string(std::get<std::int64_t>(attribute.second));
  }
  return {{"key", attribute.first}, {"value", std::move(value)}};
}

json::array otlp_attributes(const SpanAttributes& attributes) {
  json::array array;
  for (const SpanAttribute& each : attributes) array.push_back(otlp_attribute(each));
  return array;
}

}  // namespace

TraceResource trace_resource(std::string service_name, const std::string& data_directory) {
  TraceResource resource;
  resource.service_name = std::move(service_name);
  resource.host_name = host_name();
  const Digest digest = sha256(resource.host_name + "\n" + data_directory);
  Uuid id;  // RFC 9562, version 8: custom, here from a hash
  std::copy_n(digest.bytes.begin(), id.bytes.size(), id.bytes.begin());
  id.bytes[6] = static_cast<std::uint8_t>((id.bytes[6] & 0x0FU) | 0x80U);
  id.bytes[8] = static_cast<std::uint8_t>((id.bytes[8] & 0x3FU) | 0x80U);
  resource.instance_id = to_string(id);
  return resource;
}

std::string hex_trace_id(const RunId& run_id) { return hex_digits_of(run_id.bytes); }
std::string hex_span_id(const SpanId& id) { return hex_digits_of(id.bytes); }

json::object span_to_otlp(const TraceSpan& span) {
  json::object object;
  object["traceId"] = hex_trace_id(span.trace_id);
  object["spanId"] = hex_span_id(span.span_id);
  if (!span.parent.is_none()) object["parentSpanId"] = hex_span_id(span.parent);
  object["name"] = span.name;
  object["kind"] = otlp_kind_internal;
  object["startTimeUnixNano"] = std::to_string(span.started_at_ns);
  object["endTimeUnixNano"] = std::to_string(span.ended_at_ns);
  object["attributes"] = otlp_attributes(span.attributes);
  if (!span.events.empty()) {
    json::array& events = object["events"].emplace_array();
    for (const SpanEvent& event : span.events) {
      events.push_back({{"timeUnixNano", std::to_string(event.at_ns)},
                        {"name", event.name},
                        {"attributes", otlp_attributes(event.attributes)}});
    }
  }
  if (span.events_dropped > 0) object["droppedEventsCount"] = span.events_dropped;
  if (!span.links.empty()) {
    json::array& links = object["links"].emplace_array();
    for (const SpanId& link : span.links) {
      links.push_back({{"traceId", hex_trace_id(span.trace_id)}, {"spanId", hex_span_id(link)}});
    }
  }
  json::object& status = object["status"].emplace_object();
  status["code"] = otlp_code(span.status);
  if (!span.status_message.empty()) status["message"] = span.status_message;
  return object;
}

std::string otlp_request(const TraceResource& resource, std::span<const std::string> spans) {
  const SpanAttributes attributes{{"service.name", resource.service_name},
                                  {"service.version", program_version()},
                                  {"service.instance.id", resource.instance_id},
                                  {"host.name", resource.host_name}};
  std::string text = R"({"resourceSpans":[{"resource":{"attributes":)" +
                     json::serialize(otlp_attributes(attributes)) +
                     R"(},"scopeSpans":[{"scope":{"name":"signalbox","version":)" +
                     json::serialize(json::value(SIGNALBOX_VERSION)) + R"(},"spans":[)";
  for (const std::string& span : spans) {
    if (&span != spans.data()) text += ',';
    text += span;
  }
  return text + "]}]}]}";
}

}  // namespace signalbox
