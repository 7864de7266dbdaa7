#include "tools/cli/json_fields.h"

#include <algorithm>
#include <charconv>

#include <boost/json/serialize.hpp>

#include "server/text/printable_text.h"

namespace signalbox {
namespace {

namespace json = boost::json;

void indent(const json::value& value, std::size_t depth, std::string& out) {
  const std::string inner(2 * (depth + 1), ' ');
  const std::string outer(2 * depth, ' ');
  if (const json::object* object = value.if_object(); object != nullptr && !object->empty()) {
    out += "{\n";
    std::size_t left = object->size();
    for (const auto& each : *object) {
      out += inner + json::serialize(json::string(each.key())) + ": ";
      indent(each.value(), depth + 1, out);
      out += --left > 0 ? ",\n" : "\n";
    }
    out += outer + "}";
  } else if (const json::array* array = value.if_array(); array != nullptr && !array->empty()) {
    out += "[\n";
    std::size_t left = array->size();
    for (const json::value& each : *array) {
      out += inner;
      indent(each, depth + 1, out);
      out += --left > 0 ? ",\n" : "\n";
    }
    out += outer + "]";
  } else {
    out += json::serialize(value);
  }
}

bool is_printable(const json::value& value) {
  if (const json::string* text = value.if_string()) return is_printable_lines(*text);
  if (const json::array* array = value.if_array()) {
    return std::all_of(array->begin(), array->end(), is_printable);
  }
  const json::object* object = value.if_object();
  return object == nullptr || std::all_of(object->begin(), object->end(), [](const auto& each) {
           return is_printable_lines(each.key()) && is_printable(each.value());
         });
}

json::value printable_value(const json::value& value) {
  if (const json::string* text = value.if_string()) return json::string(printable_lines(*text));
  if (const json::object* object = value.if_object()) return printable_fields(*object);
  const json::array* array = value.if_array();
  if (array == nullptr) return value;
  json::array shown;
  for (const json::value& each : *array) shown.push_back(printable_value(each));
  return shown;
}

}  // namespace

json::object printable_fields(const json::object& object) {
  json::object shown;
  for (const auto& each : object) {
    if (is_printable_lines(each.key()) && is_printable(each.value())) {
      shown.insert(each);
    } else {
      shown[printable_lines(each.key())] = printable_value(each.value());
    }
  }
  return shown;
}

std::string scalar_text(const json::value& value) {
  if (value.is_null() || value.is_object() || value.is_array()) return {};
  if (const json::string* text = value.if_string()) return std::string(*text);
  return json::serialize(value);
}

std::string comma_separated(const json::array& values) {
  std::string text;
  for (const json::value& each : values) text += (text.empty() ? "" : ", ") + scalar_text(each);
  return text;
}

std::string text_at(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value == nullptr ? std::string() : scalar_text(*value);
}

std::uint64_t number_at(const json::object& object, std::string_view key) {
  const std::string text = text_at(object, key);
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

bool true_at(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr && value->is_bool() && value->get_bool();
}

const json::array& array_at(const json::object& object, std::string_view key) {
  static const json::array none;
  const json::value* value = object.if_contains(key);
  return value != nullptr && value->is_array() ? value->get_array() : none;
}

const json::object& object_at(const json::object& object, std::string_view key) {
  static const json::object none;
  const json::value* value = object.if_contains(key);
  return value != nullptr && value->is_object() ? value->as_object() : none;
}

std::string indented(const json::value& value) {
  std::string out;
  indent(value, 0, out);
  return out + '\n';
}

}  // namespace signalbox
