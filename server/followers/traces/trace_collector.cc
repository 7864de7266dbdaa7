#include "server/followers/traces/trace_collector.h"

#include <algorithm>

#include <boost/json/parse.hpp>

#include "server/followers/traces/trace_limits.h"

namespace signalbox {
namespace {

namespace json = boost::json;

constexpr std::size_t quoted_bytes_max = 200;

std::uint64_t count_of(const json::value* value) {
  if (value == nullptr) return 0;
  if (const auto* text =
          value->if_string()) {  // how JSON of protocol buffers writes 64 bit numbers
    return std::strtoull(text->c_str(), nullptr, 10);
  }
  json::error_code error;
  const auto number = value->to_number<std::uint64_t>(error);
  return error ? 0 : number;
}

// Reads an ExportTraceServiceResponse. An unreadable body counts as success, because some
// collectors answer with an empty one.
TraceDelivery success_from(const std::string& body) {
  TraceDelivery delivery;
  json::error_code error;
  const json::value whole = json::parse(body, error);
  const json::object* object = error ? nullptr : whole.if_object();
  const json::value* partial = object == nullptr ? nullptr : object->if_contains("partialSuccess");
  if (partial == nullptr || !partial->is_object()) return delivery;
  delivery.rejected = count_of(partial->get_object().if_contains("rejectedSpans"));
  const json::value* message = partial->get_object().if_contains("errorMessage");
  if (message != nullptr && message->is_string()) {
    delivery.message = std::string(message->get_string()).substr(0, quoted_bytes_max);
  }
  return delivery;
}

}  // namespace

TraceDelivery judge_collector_response(const HttpResponse& response) {
  const long status = response.status;
  if (status >= 200 && status < 300) return success_from(response.body);
  TraceDelivery delivery;
  delivery.message = "HTTP " + std::to_string(status);
  if (!response.body.empty()) delivery.message += ": " + response.body.substr(0, quoted_bytes_max);
  if (response.retry_after_ms) {
    delivery.after_ms = std::min(*response.retry_after_ms, limits::trace_retry_after_ms_max);
  }
  if (status == 408 || status == 429 || status == 502 || status == 503 || status == 504) {
    delivery.outcome = TraceDelivery::Outcome::again;
  } else {
    delivery.outcome =
        status >= 500 ? TraceDelivery::Outcome::failing : TraceDelivery::Outcome::refused;
  }
  return delivery;
}

TraceDelivery deliver_spans(const TraceSettings& settings, const std::string& body,
                            const std::function<bool()>& is_canceled) {
  OutgoingRequest request;
  request.method = "POST";
  request.url = settings.endpoint;
  request.headers = settings.headers;
  request.headers.emplace_back("Content-Type", "application/json");
  request.headers.emplace_back("Expect", "");  // no round trip before a long body
  request.body = body;
  request.trusted = settings.certificate_authority;
  request.follow = false;
  request.is_canceled = is_canceled;
  const auto response = send(request, {settings.request_ms / 2, settings.request_ms});
  if (response) return judge_collector_response(*response);
  return {TraceDelivery::Outcome::again, 0, response.error().message, std::nullopt};
}

}  // namespace signalbox
