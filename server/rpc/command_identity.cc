#include "server/rpc/command_identity.h"

#include <algorithm>
#include <string>
#include <vector>

#include <boost/json/serialize.hpp>

#include "store/sha256.h"

namespace signalbox {
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
