#include "server/rpc/methods/run_methods.h"

#include <algorithm>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "server/engine/dropped_history.h"
#include "server/followers/traces/trace_exporter.h"
#include "server/followers/traces/trace_source.h"
#include "server/platform/clock.h"
#include "server/rpc/methods/trace_json.h"
#include "server/rpc/read_models.h"
#include "server/text/described_json.h"
#include "server/text/time_text.h"
#include "store/event_log.h"

namespace signalbox {
namespace {

namespace json = boost::json;

const char* name_of(SpanKind kind) {
  switch (kind) {
    case SpanKind::run:
      return "run";
    case SpanKind::attempt:
      return "attempt";
    case SpanKind::step:
      return "step";
    case SpanKind::usage:
      return "usage";
  }
  return "";
}

const char* name_of(SpanStatus status) {
  switch (status) {
    case SpanStatus::unset:
      return "unset";
    case SpanStatus::ok:
      return "ok";
    case SpanStatus::error:
      return "error";
  }
  return "";
}

json::object plain_attributes(const SpanAttributes& attributes) {
  json::object object;
  for (const auto& [key, value] : attributes) {
    std::visit([&, &name = key](const auto& held) { object[name] = held; }, value);
  }
  return object;
}

json::object plain_span(const TraceSpan& span) {
  json::object object;
  object["kind"] = name_of(span.kind);
  object["name"] = span.name;
  object["span_id"] = hex_span_id(span.span_id);
  if (!span.parent.is_none()) object["parent_span_id"] = hex_span_id(span.parent);
  object["started_at"] = format_time(span.started_at_ns);
  if (span.ended_at_ns != 0) {
    object["ended_at"] = format_time(span.ended_at_ns);
    object["duration_ns"] = span.ended_at_ns - span.started_at_ns;
  }
  object["status"] = name_of(span.status);
  if (!span.status_message.empty()) object["message"] = span.status_message;
  object["attributes"] = plain_attributes(span.attributes);
  json::array& events = object["events"].emplace_array();
  for (const SpanEvent& event : span.events) {
    events.push_back({{"name", event.name},
                      {"at", format_time(event.at_ns)},
                      {"attributes", plain_attributes(event.attributes)}});
  }
  if (span.events_dropped > 0) object["events_dropped"] = span.events_dropped;
  return object;
}

// Returns the spans ordered by their start, with the root first, so that a child follows its
// parent.
json::array plain_spans(const WholeTrace& whole) {
  std::vector<const TraceSpan*> spans;
  for (const TraceSpan& span : whole.ended) spans.push_back(&span);
  for (const TraceSpan& span : whole.open) spans.push_back(&span);
  std::stable_sort(spans.begin(), spans.end(), [](const TraceSpan* a, const TraceSpan* b) {
    if (a->started_at_ns != b->started_at_ns) return a->started_at_ns < b->started_at_ns;
    return a->kind < b->kind;
  });
  json::array array;
  for (const TraceSpan* span : spans) array.push_back(plain_span(*span));
  return array;
}

}  // namespace

json::object trace_to_json(const RunId& run_id, const WholeTrace& whole, std::int64_t as_of_ns) {
  json::object result;
  result["run_id"] = to_string(run_id);
  result["trace_id"] = hex_trace_id(run_id);
  result["as_of"] = format_time(as_of_ns);
  result["spans"] = plain_spans(whole);
  return result;
}

namespace {

Decided<json::object> trace_result(const EventLog& log, const RunIndex& index,
                                   const TraceRun& params, const TraceResource& resource,
                                   std::int64_t now_ns) {
  const auto whole = read_run_trace(log, index, params.run_id);
  if (!whole) return unreadable(whole.error());
  if (!*whole) {
    return tl::unexpected(run_not_found(log, params.run_id));
  }
  json::object result = trace_to_json(params.run_id, **whole, now_ns);
  if (params.otlp.value_or(false)) {
    std::vector<std::string> spans;
    for (const TraceSpan& span : (*whole)->ended) {
      spans.push_back(json::serialize(span_to_otlp(span)));
    }
    result["otlp"] = json::parse(otlp_request(resource, spans));
  }
  return result;
}

}  // namespace

void trace_run(Api& api, Call& call, const TraceResource& resource) {
  const auto params = from_json<TraceRun>(call.params);
  if (!params) return call.responder.reject(params.error());
  answer_from_read_models(
      api, call.responder,
      [&log = api.log, params = *params, resource, now_ns = api.clock.wall_ns()](
          const RunIndex& index) { return trace_result(log, index, params, resource, now_ns); });
}

}  // namespace signalbox
