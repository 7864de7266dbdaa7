#include "server/rpc/record_json.h"

#include "domain/run_span.h"
#include "server/text/described_json.h"
#include "server/text/time_text.h"

namespace signalbox {

boost::json::object record_header_to_json(const Record& record) {
  const EventTag tag = tag_of(record.event);
  boost::json::object object;
  object["position"] = record.position;
  object["stream"] = to_string(record.stream);
  object["type"] = boost::json::string_view(tag.name);
  object["type_version"] = tag.version;
  object["recorded_at"] = format_time(record.recorded_at_ns);
  object["actor"] = record.actor;
  if (!record.command_id.empty()) object["command_id"] = record.command_id;
  if (record.cause != 0) object["cause"] = record.cause;
  if (!record.span_id.is_nil()) object["span_id"] = to_string(record.span_id);
  if (const auto parent = parent_span(record)) object["parent_span_id"] = to_string(*parent);
  if (record.redacted) object["redacted"] = true;
  return object;
}

boost::json::object record_to_json(const Record& record) {
  boost::json::object object = record_header_to_json(record);
  object["data"] = apply([](const auto& event) { return to_json(event); }, record.event);
  return object;
}

}  // namespace signalbox
