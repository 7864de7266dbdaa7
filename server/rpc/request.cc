#include "server/rpc/request.h"

#include <algorithm>
#include <string>
#include <vector>

#include <boost/json/serialize.hpp>

#include "domain/limits.h"
#include "server/limits.h"
#include "server/text/json_text.h"
#include "store/sha256.h"

namespace signalbox {
namespace {

namespace json = boost::json;

tl::unexpected<BadRequest> invalid(std::string id_text, std::string message) {
  return tl::unexpected(BadRequest{
      std::move(id_text),
      Rejection{ErrorCode::INVALID_REQUEST,
                std::move(message),
                {},
                {R"(printf '{"jsonrpc":"2.0","id":1,"method":"run.list"}\n' | nc -NU SOCKET)"}}});
}

}  // namespace

tl::expected<Request, BadRequest> read_request(std::string_view line,
                                               const json::storage_ptr& storage) {
  auto parsed = parse_json(line, storage);
  if (!parsed) return tl::unexpected(BadRequest{"null", std::move(parsed.error())});
  json::object* object = parsed->if_object();
  if (object == nullptr) {
    return invalid("null", parsed->is_array() ? "batches are not taken: send one object a line"
                                              : "a request is a JSON object");
  }

  Request request{{}, {}, json::object(storage), {}};
  if (const json::value* id = object->if_contains("id")) {
    if (id->is_structured() || id->is_bool() || id->is_double()) {
      return invalid("null", "id must be a string, a whole number or null");
    }
    request.id_text = id->is_int64() ? std::to_string(id->get_int64()) : json::serialize(*id);
    if (request.id_text.size() > request_id_bytes_max) return invalid("null", "id is too long");
  }
  const std::string& id_text = request.id_text;
  const json::value* version = object->if_contains("jsonrpc");
  if (version == nullptr || !version->is_string() || version->get_string() != "2.0") {
    return invalid(id_text, R"(jsonrpc must be "2.0")");
  }
  const json::value* method = object->if_contains("method");
  if (method == nullptr || !method->is_string()) return invalid(id_text, "method must be a string");
  request.method.assign(method->get_string().data(), method->get_string().size());

  if (json::value* params = object->if_contains("params")) {
    if (!params->is_object()) return invalid(id_text, "params must be an object");
    request.params = std::move(params->get_object());
  }
  if (const json::value* command_id = request.params.if_contains("command_id")) {
    if (!command_id->is_string() || command_id->get_string().empty() ||
        command_id->get_string().size() > limits::command_id_bytes_max) {
      return tl::unexpected(
          BadRequest{id_text, Rejection{ErrorCode::INVALID_PARAMS,
                                        "command_id must be a string of 1 to " +
                                            std::to_string(limits::command_id_bytes_max) + " bytes",
                                        {{"field", std::string("command_id")}},
                                        {}}});
    }
    request.command_id.assign(command_id->get_string().data(), command_id->get_string().size());
    request.params.erase("command_id");
  }
  return request;
}

namespace {

namespace json = boost::json;

void append_canonical(const json::value& value, std::string& text) {
  if (const json::object* object = value.if_object()) {
    std::vector<const json::key_value_pair*> members;
    for (const auto& member : *object) members.push_back(&member);
    std::sort(members.begin(), members.end(),
              [](const auto* left, const auto* right) { return left->key() < right->key(); });
    text += '{';
    for (const auto* member : members) {
      text += json::serialize(member->key());
      text += ':';
      append_canonical(member->value(), text);
      text += ',';
    }
    text += '}';
  } else if (const json::array* array = value.if_array()) {
    text += '[';
    for (const json::value& element : *array) {
      append_canonical(element, text);
      text += ',';
    }
    text += ']';
  } else {
    text += json::serialize(value);
  }
}

}  // namespace

Digest request_digest(std::string_view method, const json::object& params) {
  std::string text(method);
  text += '\n';
  append_canonical(params, text);
  return sha256(text);
}

}  // namespace signalbox
