#include "server/text/json_schema.h"

#include <cstdint>

#include <boost/json/array.hpp>

namespace signalbox {
namespace {

namespace json = boost::json;

using described_json::Field;
using described_json::Type;

// Beyond 2^53 an integer is a string of its digits. What a caller may send has such numbers for
// positions only, which have no sign.
json::object integer_schema(const Type& type, JsonUse use) {
  constexpr std::uint8_t wide_bytes = 8;
  const bool is_wide = type.bytes == wide_bytes;
  json::object schema;
  if (is_wide && (use == JsonUse::written || !type.is_signed)) {
    schema["type"] = json::array{"integer", "string"};
    schema["pattern"] = type.is_signed ? "^-?[0-9]+$" : "^[0-9]+$";
  } else {
    schema["type"] = "integer";
  }
  if (!type.is_signed) schema["minimum"] = 0;
  if (!is_wide) {
    const unsigned bits = type.bytes * 8U - (type.is_signed ? 1U : 0U);
    const std::int64_t largest = (std::int64_t{1} << bits) - 1;
    if (type.is_signed) schema["minimum"] = -largest - 1;
    schema["maximum"] = largest;
  }
  return schema;
}

json::object object_schema(const Type& type, JsonUse use) {
  json::object properties;
  json::array required;
  for (const Field& field : type.fields) {
    properties[field.name] = schema_of(field, use);
    const bool is_required =
        use == JsonUse::read ? field.type->is_required() : field.type->kind != Type::Kind::optional;
    if (is_required) required.emplace_back(field.name);
  }
  json::object schema{{"type", "object"}};
  if (!required.empty()) schema["required"] = std::move(required);
  schema["properties"] = std::move(properties);
  schema["additionalProperties"] = false;
  return schema;
}

}  // namespace

json::object schema_of(const Type& type, JsonUse use) {
  switch (type.kind) {
    case Type::Kind::boolean:
      return {{"type", "boolean"}};
    case Type::Kind::integer:
      return integer_schema(type, use);
    case Type::Kind::enumeration: {
      json::array names;
      for (const auto& each : type.enumerators) names.emplace_back(each.name);
      return {{"type", "string"}, {"enum", std::move(names)}};
    }
    case Type::Kind::string:
      return {{"type", "string"}};
    case Type::Kind::string_map:
      return {{"type", "object"}, {"additionalProperties", json::object{{"type", "string"}}}};
    case Type::Kind::uuid:
      return {{"type", "string"}, {"format", "uuid"}};
    case Type::Kind::digest:
      return {{"type", "string"}, {"pattern", "^[0-9a-f]{64}$"}};
    case Type::Kind::optional:
      return schema_of(*type.inner, use);
    case Type::Kind::vector:
      return {{"type", "array"}, {"items", schema_of(*type.inner, use)}};
    case Type::Kind::object:
      break;
  }
  return object_schema(type, use);
}

json::object schema_of(const Field& field, JsonUse use) {
  if (field.is_time) {
    return {{"type", json::array{"string", "null"}}, {"format", "date-time"}};
  }
  return schema_of(*field.type, use);
}

}  // namespace signalbox
