// Compares the OpenRPC document with the dispatch table, PROTOCOL.md and openapi.json, and holds
// the rules of the OpenRPC 1.3 specification and of JSON Schema that a generator relies on. That
// answers are as described is held by tests/scenarios/openrpc_test.cc.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "server/rpc/methods/event_types.h"
#include "server/rpc/methods/openrpc.h"
#include "server/rpc/methods/param_bounds.h"
#include "server/transport/http/openapi.h"
#include "server/transport/http/route.h"
#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

namespace json = boost::json;
using Names = std::set<std::string>;

class RpcOpenrpc : public testing::Test, protected RpcSite {
 protected:
  RpcOpenrpc()
      : document_(json::parse(openrpc_document(dispatcher.methods(), openapi_text())).as_object()) {
    for (const json::value& each : document_.at("methods").as_array()) {
      described_.emplace(std::string(each.at("name").as_string()), each.as_object());
    }
  }

  // Returns the names of a method's params that `matches`.
  template <class Matches>
  static Names params_of(const json::object& method, const Matches& matches) {
    Names names;
    for (const json::value& each : method.at("params").as_array()) {
      const std::string name(each.at("name").as_string());
      if (name != "command_id" && name != "at" && matches(each.as_object())) names.insert(name);
    }
    return names;
  }
  static bool is_required(const json::object& param) {
    const json::value* const required = param.if_contains("required");
    return required != nullptr && required->as_bool();
  }
  static bool takes(const json::object& method, std::string_view name) {
    for (const json::value& each : method.at("params").as_array()) {
      if (each.at("name").as_string() == name) return true;
    }
    return false;
  }

  json::object document_;
  std::map<std::string, json::object> described_;
};

TEST_F(RpcOpenrpc, DescribesEveryMethodAndNoOther) {  // M4
  Names served;
  for (const Method& method : dispatcher.methods()) served.emplace(method.name);
  Names described;
  for (const auto& [name, method] : described_) described.insert(name);
  EXPECT_EQ(described, served);
  EXPECT_EQ(document_.at("methods").as_array().size(), served.size()) << "one is there twice";
  Names written;
  const json::value texts = json::parse({method_texts().data(), method_texts().size()});
  for (const auto& each : texts.at("methods").as_object()) written.emplace(each.key());
  EXPECT_EQ(written, served) << "methods.json";
  EXPECT_GT(served.size(), 80U);
}

TEST_F(RpcOpenrpc, HasWhatTheDispatchTableSays) {
  for (const Method& method : dispatcher.methods()) {
    const json::object& shown = described_.at(std::string(method.name));
    Names read;
    Names required;
    for (const auto& field : method.params->fields) {
      read.emplace(field.name);
      if (field.type->is_required()) required.emplace(field.name);
    }
    EXPECT_EQ(params_of(shown, [](const auto&) { return true; }), read) << method.name;
    EXPECT_EQ(params_of(shown, is_required), required) << method.name;
    EXPECT_EQ(takes(shown, "command_id"), method.mutates) << method.name;
    EXPECT_EQ(takes(shown, "at"), answers_about_past(method)) << method.name;
    EXPECT_EQ(shown.at("x-mutating"), method.mutates) << method.name;
    const json::value role =
        method.needs ? json::value(name_of(*method.needs)) : json::value(nullptr);
    EXPECT_EQ(shown.at("x-role"), role) << method.name;
  }
}

// What methods.json and the bounds say is about params that there are.
TEST_F(RpcOpenrpc, HasNothingAboutParamsThatNobodyReads) {
  const auto is_read = [this](std::string_view method, std::string_view param) {
    const auto found = described_.find(std::string(method));
    return found != described_.end() && takes(found->second, param);
  };
  const json::value texts = json::parse({method_texts().data(), method_texts().size()});
  for (const auto& method : texts.at("methods").as_object()) {
    const json::value* const params = method.value().as_object().if_contains("params");
    if (params == nullptr) continue;
    for (const auto& param : params->as_object()) {
      EXPECT_TRUE(is_read(method.key(), param.key())) << method.key() << " " << param.key();
    }
  }
  std::set<std::pair<std::string_view, std::string_view>> bounded;
  for (const BoundedParam& each : bounded_params()) {
    EXPECT_TRUE(is_read(each.method, each.param)) << each.method << " " << each.param;
    EXPECT_LE(each.min, each.max) << each.method << " " << each.param;
    EXPECT_TRUE(bounded.emplace(each.method, each.param).second) << each.method << each.param;
  }
}

TEST_F(RpcOpenrpc, BoundsAreInTheSchemas) {
  const auto schema_of_param = [this](const char* method, std::string_view name) {
    for (const json::value& each : described_.at(method).at("params").as_array()) {
      if (each.at("name").as_string() == name) return each.at("schema");
    }
    return json::value();
  };
  EXPECT_EQ(schema_of_param("run.start", "goal"),
            json::parse(R"({"type":"string","minLength":1,"maxLength":4096})"));
  EXPECT_EQ(schema_of_param("run.list", "limit"),
            json::parse(R"({"type":"integer","minimum":1,"maximum":500})"));
  EXPECT_EQ(schema_of_param("card.submit", "priority"),
            json::parse(R"({"type":"integer","minimum":-1000000,"maximum":1000000})"));
  EXPECT_EQ(schema_of_param("run.get", "run_id"),
            json::parse(R"({"type":"string","format":"uuid"})"));
  EXPECT_EQ(schema_of_param("run.fence", "token"),
            json::parse(R"({"type":["integer","string"],"pattern":"^[0-9]+$","minimum":0})"));
  EXPECT_EQ(schema_of_param("access.issue", "role").at("enum").at(2), "operator");
  EXPECT_EQ(schema_of_param("run.start", "labels").at("maxProperties"), 16);
  EXPECT_EQ(schema_of_param("station.complete", "artifacts").at("maxItems"), 32);
  EXPECT_EQ(schema_of_param("station.complete", "quota_reset_at").at("format"), "date-time");
  EXPECT_EQ(schema_of_param("plan.set", "steps").at("items").at("properties").at("id").at("type"),
            "string");
}

TEST_F(RpcOpenrpc, HasEveryTypeOfEventWithASentence) {
  const json::array& events = document_.at("x-events").as_array();
  const json::object listed = event_types_view();
  const json::array& types = listed.at("types").as_array();
  ASSERT_EQ(events.size(), types.size());
  for (std::size_t place = 0; place < events.size(); ++place) {
    const json::object& event = events[place].as_object();
    EXPECT_EQ(event.at("type"), types[place].at("type"));
    EXPECT_FALSE(event.at("sentence").as_string().empty()) << event.at("type");
    Names fields;
    for (const auto& each : event.at("data").at("properties").as_object())
      fields.insert(each.key());
    Names named;
    for (const json::value& each : types[place].at("fields").as_array()) {
      named.emplace(each.as_string());
    }
    EXPECT_EQ(fields, named) << event.at("type");
  }
}

TEST_F(RpcOpenrpc, HasEveryErrorWithItsNumber) {
  const json::object& errors = document_.at("components").at("errors").as_object();
  std::size_t codes = 0;
  boost::mp11::mp_for_each<boost::describe::describe_enumerators<ErrorCode>>([&](auto each) {
    ++codes;
    EXPECT_EQ(errors.at(each.name).at("code"), static_cast<int>(each.value)) << each.name;
    EXPECT_EQ(errors.at(each.name).at("data").at("code"), each.name);
  });
  EXPECT_EQ(errors.size(), codes);
}

// What PROTOCOL.md says of a method: the paragraph that it begins with, and which params are
// optional.
struct WrittenMethod {
  std::string paragraph;
  Names optional;
  Names required;
};

std::map<std::string, WrittenMethod> written_methods() {
  std::map<std::string, WrittenMethod> methods;
  std::ifstream file(SIGNALBOX_SOURCE_DIR "/server/PROTOCOL.md");
  EXPECT_TRUE(file);
  WrittenMethod* method = nullptr;
  bool in_paragraph = false;
  bool in_table = false;
  static const std::regex row(R"(\| `(\w+)` \| ?(.*)\|)");
  static const std::regex link(R"(\[([^\]]+)\]\([^)]*\))");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("## ")) method = nullptr;
    if (line.starts_with("### ")) {
      method = &methods[line.substr(4)];
      in_paragraph = true;
      continue;
    }
    if (method == nullptr) continue;
    if (line.empty() && !method->paragraph.empty()) in_paragraph = false;
    if (in_paragraph && !line.empty()) {
      method->paragraph += (method->paragraph.empty() ? "" : " ");
      method->paragraph += std::regex_replace(line, link, "$1");
    }
    if (line.starts_with("| param |")) in_table = true;
    if (!line.starts_with("|")) in_table = false;
    std::smatch found;
    if (!in_table || !std::regex_match(line, found, row)) continue;
    (found[2].str().starts_with("optional") ? method->optional : method->required).insert(found[1]);
  }
  return methods;
}

TEST_F(RpcOpenrpc, SaysWhatTheProtocolSays) {
  const auto written = written_methods();
  for (const auto& [name, method] : described_) {
    ASSERT_TRUE(written.contains(name)) << name;
    const WrittenMethod& protocol = written.at(name);
    const std::string summary(method.at("summary").as_string());
    ASSERT_TRUE(summary.ends_with('.')) << name;
    EXPECT_TRUE(protocol.paragraph.starts_with(summary.substr(0, summary.size() - 1)))
        << name << ": " << summary << "\nPROTOCOL.md: " << protocol.paragraph;
    EXPECT_EQ(params_of(method, is_required), protocol.required) << name;
    EXPECT_EQ(params_of(method, [](const auto& each) { return !is_required(each); }),
              protocol.optional)
        << name;
  }
}

// Returns the name that an OpenAPI document has for the route's verb.
const char* operation_name(const Route& route) {
  if (route.verb == "GET") return "get";
  return route.verb == "PUT" ? "put" : "post";
}

// Returns the params of an HTTP operation by name, with the schema of each.
std::map<std::string, json::object> http_params(const json::object& openapi, const Route& route) {
  std::map<std::string, json::object> params;
  const json::object& path = openapi.at("paths").at(route.path).as_object();
  const json::object& operation = path.at(operation_name(route)).as_object();
  for (const json::object* holder : {&path, &operation}) {
    const json::value* const list = holder->if_contains("parameters");
    if (list == nullptr) continue;
    for (const json::value& each : list->as_array()) {
      if (each.at("in").as_string() == "header") continue;
      params.emplace(each.at("name").as_string(), each.at("schema").as_object());
    }
  }
  if (const json::value* const body = operation.if_contains("requestBody")) {
    const std::string pointer(
        body->at("content").at("application/json").at("schema").at("$ref").as_string());
    const std::string name = pointer.substr(pointer.rfind('/') + 1);
    const json::value& schema = openapi.at("components").at("schemas").at(name);
    for (const auto& each : schema.at("properties").as_object()) {
      params.emplace(each.key(), each.value().as_object());
    }
  }
  return params;
}

// HTTP has the same params as the method, with the same bounds, and the same result.
TEST_F(RpcOpenrpc, IsWhatOpenapiSaysOfTheSameMethods) {
  const json::object openapi =
      json::parse({openapi_text().data(), openapi_text().size()}).as_object();
  std::size_t results = 0;
  for (const Route& route : routes()) {
    if (route.method.empty()) continue;
    const json::object& method = described_.at(std::string(route.method));
    const auto params = http_params(openapi, route);
    for (const json::value& each : method.at("params").as_array()) {
      const std::string name(each.at("name").as_string());
      // There the part of an output is asked for by a header, Range.
      if (route.kind == RouteKind::output && (name == "offset" || name == "bytes")) continue;
      ASSERT_TRUE(params.contains(name)) << route.path << " " << name;
      const json::object& schema = each.at("schema").as_object();
      if (params.at(name).contains("$ref")) continue;
      for (const char* bound : {"minLength", "maxLength", "maximum", "maxItems", "maxProperties"}) {
        const json::value* const here = schema.if_contains(bound);
        const json::value* const there = params.at(name).if_contains(bound);
        const bool is_of_type = here != nullptr && *here == 4294967295;  // all that 32 bits hold
        if (here == nullptr || is_of_type) continue;
        ASSERT_NE(there, nullptr) << route.path << " " << name << " " << bound;
        EXPECT_EQ(*here, *there) << route.path << " " << name << " " << bound;
      }
    }
    const json::object& responses =
        openapi.at("paths").at(route.path).at(operation_name(route)).at("responses").as_object();
    const json::value& content =
        responses.at(std::to_string(route.status)).as_object().at("content");
    const json::value* const media = content.as_object().if_contains("application/json");
    const bool is_changed =
        route.path == "/v1/runs/{run_id}/artifacts" || route.kind == RouteKind::put;
    if (media == nullptr || is_changed) continue;
    ++results;
    EXPECT_EQ(media->at("schema"), method.at("result").at("schema")) << route.path;
  }
  EXPECT_GE(results, 10U);
  // A schema that both documents have is the same in both.
  const json::object& schemas = openapi.at("components").at("schemas").as_object();
  for (const auto& each : document_.at("components").at("schemas").as_object()) {
    const json::value* const there = schemas.if_contains(each.key());
    if (there != nullptr) {
      EXPECT_EQ(each.value(), *there) << each.key();
    }
  }
}

}  // namespace
}  // namespace signalbox
