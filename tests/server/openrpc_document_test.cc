// Holds the rules of the OpenRPC 1.3 specification and of JSON Schema that a generator relies on:
// those of the meta-schema for what the document has.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include <boost/json/parse.hpp>

#include "server/rpc/methods/openrpc.h"
#include "server/transport/http/openapi.h"
#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

namespace json = boost::json;
using Names = std::set<std::string>;

constexpr std::size_t document_bytes_max = 512 * 1024;

bool is_required_param(const json::value& param) {
  const json::value* const required = param.as_object().if_contains("required");
  return required != nullptr && required->as_bool();
}

// The keywords of JSON Schema draft 7 that are used; a name that isn't here is a misspelt one.
const Names schema_keywords = {
    "$ref",          "type",         "enum",      "const",     "format",   "pattern",
    "description",   "required",     "items",     "minItems",  "maxItems", "properties",
    "minimum",       "maximum",      "minLength", "maxLength", "anyOf",    "additionalProperties",
    "maxProperties", "minProperties"};
const Names json_types = {"null", "boolean", "object", "array", "number", "integer", "string"};

// Adds what of a schema isn't one of draft 7, and the names that it refers to.
void check_schema(const json::value& value, const std::string& place, Names& complaints,
                  Names& referred) {
  if (value.is_bool()) return;
  if (!value.is_object()) {
    complaints.insert(place + " is no schema");
    return;
  }
  const json::object& schema = value.get_object();
  const auto inner = [&](const json::value& part, std::string_view name) {
    check_schema(part, place + "/" + std::string(name), complaints, referred);
  };
  for (const auto& each : schema) {
    const std::string keyword(each.key());
    if (!schema_keywords.contains(keyword)) complaints.insert(place + " has " + keyword);
    if (keyword == "items" || keyword == "additionalProperties") inner(each.value(), keyword);
    if (keyword == "$ref") referred.emplace(each.value().as_string());
    if (keyword == "properties") {
      for (const auto& field : each.value().as_object()) inner(field.value(), field.key());
    }
    if (keyword == "anyOf") {
      if (each.value().as_array().empty()) complaints.insert(place + " has an empty anyOf");
      for (const json::value& part : each.value().as_array()) inner(part, keyword);
    }
    if (keyword == "required") {
      Names names;
      const json::value* const properties = schema.if_contains("properties");
      for (const json::value& name : each.value().as_array()) {
        if (!names.emplace(name.as_string()).second) complaints.insert(place + " requires twice");
        if (properties == nullptr || !properties->as_object().contains(name.as_string())) {
          complaints.insert(place + " requires " + std::string(name.as_string()));
        }
      }
    }
    if (keyword == "type") {
      const json::array types =
          each.value().is_array() ? each.value().get_array() : json::array{each.value()};
      for (const json::value& type : types) {
        if (!json_types.contains(std::string(type.as_string()))) {
          complaints.insert(place + " has a type " + std::string(type.as_string()));
        }
      }
    }
  }
}

TEST(OpenrpcDocument, IsValid) {
  RpcSite site;
  const std::string text = openrpc_document(site.dispatcher.methods(), openapi_text());
  EXPECT_LT(text.size(), document_bytes_max);
  const json::value whole = json::parse(text);
  const json::object& document = whole.as_object();
  Names complaints;
  Names referred;
  EXPECT_EQ(document.at("openrpc"), "1.3.2");
  EXPECT_FALSE(document.at("info").at("title").as_string().empty());
  EXPECT_FALSE(document.at("info").at("version").as_string().empty());
  for (const auto& each : document) {
    const std::string key(each.key());
    const Names known{"openrpc", "info", "methods", "components"};
    EXPECT_TRUE(known.contains(key) || key.starts_with("x-")) << key;
  }
  const Names method_keys{"name", "summary", "params", "paramStructure", "result", "errors"};
  for (const json::value& described : document.at("methods").as_array()) {
    const json::object& method = described.as_object();
    const std::string name(method.at("name").as_string());
    EXPECT_FALSE(name.starts_with("rpc.")) << name << ": reserved by JSON-RPC";
    EXPECT_FALSE(method.at("summary").as_string().empty()) << name;
    EXPECT_EQ(method.at("paramStructure"), "by-name");
    for (const auto& each : method) {
      const std::string key(each.key());
      EXPECT_TRUE(method_keys.contains(key) || key.starts_with("x-")) << name << " " << key;
    }
    std::vector<json::value> descriptors{method.at("result")};
    bool is_optional = false;
    Names params;
    for (const json::value& param : method.at("params").as_array()) {
      descriptors.push_back(param);
      EXPECT_TRUE(params.emplace(param.at("name").as_string()).second) << name;
      EXPECT_FALSE(is_required_param(param) && is_optional)
          << name << ": a required param after an optional one";
      is_optional = !is_required_param(param);
    }
    for (const json::value& descriptor : descriptors) {
      const std::string place = name + "/" + std::string(descriptor.at("name").as_string());
      check_schema(descriptor.at("schema"), place, complaints, referred);
    }
    EXPECT_FALSE(method.at("result").at("schema").as_object().empty()) << name;
    Names errors;
    for (const json::value& error : method.at("errors").as_array()) {
      const std::string pointer(error.at("$ref").as_string());
      EXPECT_TRUE(errors.insert(pointer).second) << name << " " << pointer;
      referred.insert(pointer);
    }
  }
  for (const auto& each : document.at("components").at("schemas").as_object()) {
    check_schema(each.value(), std::string(each.key()), complaints, referred);
  }
  for (const json::value& each : document.at("x-events").as_array()) {
    check_schema(each.at("data"), std::string(each.at("type").as_string()), complaints, referred);
  }
  for (const std::string& complaint : complaints) ADD_FAILURE() << complaint;
  for (const std::string& pointer : referred) {
    json::error_code error;
    const json::value* const found = whole.find_pointer(pointer.substr(1), error);
    EXPECT_TRUE(found != nullptr && !error) << pointer;
  }
}

}  // namespace
}  // namespace signalbox
