#include "server/transport/http/call_line.h"

#include <optional>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "domain/try.h"
#include "server/text/json_text.h"
#include "server/text/separated_text.h"
#include "server/transport/http/sse_stream.h"

namespace signalbox {
namespace {

namespace json = boost::json;

constexpr std::string_view result_prefix = R"({"jsonrpc":"2.0","id":1,"result":)";

tl::unexpected<Rejection> invalid(const std::string& field, const std::string& message) {
  return reject(ErrorCode::INVALID_PARAMS, field + " " + message, {{"field", field}});
}

// Adds event types to params. A client may send one value with commas, or the field several times.
void add_types(json::object& params, std::string_view text) {
  json::value& types = params["types"];
  if (!types.is_array()) types = json::array();
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    if (comma != 0) types.as_array().emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
}

Decided<void> add_query(const Route& route, const Target& target, json::object& params) {
  for (const auto& [name, value] : target.query) {
    if (route.verb != "GET") return invalid(name, "belongs in the body, not in the query");
    if (route.kind == RouteKind::stream && is_of_sse_form(name)) continue;
    if (route.kind == RouteKind::stream && name == "types") {
      add_types(params, value);
    } else if (!params.emplace(name, value).second) {
      return invalid(name, "is there twice");
    }
  }
  return {};
}

Decided<void> add_body(std::string_view body, json::object& params) {
  if (body.empty()) return {};
  auto parsed = TRY(parse_json(body));
  json::object* object = parsed.if_object();
  if (object == nullptr) return invalid("body", "must be a JSON object");
  params = std::move(*object);
  return {};
}

// Adds the idempotency key to params. It comes bare or as a string of structured fields: "…".
Decided<void> add_key(const Route& route, std::string_view key, json::object& params) {
  if (key.empty()) return {};
  if (route.key_param.empty()) return {};
  if (key.size() > 2 && key.front() == '"' && key.back() == '"')
    key = key.substr(1, key.size() - 2);
  const auto [place, added] = params.emplace(route.key_param, json::string_view(key));
  if (!added && place->value() != json::value(json::string_view(key))) {
    return invalid(std::string(route.key_param), "differs from the header Idempotency-Key");
  }
  return {};
}

// Makes the stream begin after the last event that the client has received.
Decided<void> add_last_event_id(std::string_view id, json::object& params) {
  if (id.empty()) return {};
  const auto position = whole_number<std::uint64_t>(id);
  if (!position || *position + 1 == 0) {
    return invalid("Last-Event-ID", "must be a position, as the ids of the stream are");
  }
  params["from"] = std::to_string(*position + 1);
  return {};
}

// Makes run.log find the attempt and no more: the header Range says which bytes are wanted.
Decided<void> add_no_bytes(json::object& params) {
  for (const char* name : {"offset", "bytes"}) {
    if (params.contains(name)) return invalid(name, "belongs in the header Range");
  }
  params["bytes"] = 1;
  return {};
}

}  // namespace

Decided<std::string> call_line(const RouteMatch& match, const Target& target,
                               const CallHeaders& headers, std::string_view body) {
  const Route& route = *match.route;
  json::object params;
  Decided<void> ok;
  if (route.verb != "GET") ok = add_body(body, params);
  if (ok) ok = add_query(route, target, params);
  if (ok) ok = add_key(route, headers.idempotency_key, params);
  if (ok && route.kind == RouteKind::stream) ok = add_last_event_id(headers.last_event_id, params);
  if (ok && route.kind == RouteKind::output) ok = add_no_bytes(params);
  if (!ok) return tl::unexpected(ok.error());
  for (const auto& [name, value] : match.params) {
    if (!params.emplace(name, value).second) return invalid(name, "is in the path already");
  }
  json::object request;
  request["jsonrpc"] = "2.0";
  request["id"] = 1;
  request["method"] = json::string_view(route.method);
  request["params"] = std::move(params);
  return json::serialize(request);
}

std::optional<std::string_view> result_text(std::string_view answer_line) {
  if (!answer_line.starts_with(result_prefix)) return std::nullopt;
  answer_line.remove_prefix(result_prefix.size());
  answer_line.remove_suffix(1);
  return answer_line;
}

}  // namespace signalbox
