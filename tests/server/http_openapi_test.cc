// Compares server/transport/http/openapi.json with the code: the routes, their params, the errors.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>

#include "server/transport/http/openapi.h"
#include "server/transport/http/problem.h"
#include "server/transport/http/route.h"
#include "tests/server/rpc_site.h"

namespace signalbox {
namespace {

namespace json = boost::json;
using Names = std::set<std::string>;

const json::object& document() {
  static const json::object parsed =
      json::parse({openapi_text().data(), openapi_text().size()}).as_object();
  return parsed;
}

// Resolves a reference such as "#/components/schemas/Name".
const json::value& resolved(const json::value& value) {
  const std::string pointer(value.at("$ref").as_string());
  const std::string name = pointer.substr(pointer.rfind('/') + 1);
  return document().at("components").at("schemas").at(name);
}

std::string lower(std::string_view verb) {
  std::string text(verb);
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char each) { return static_cast<char>(each - 'A' + 'a'); });
  return text;
}

const json::object& operation_of(const Route& route) {
  return document().at("paths").at(route.path).at(lower(route.verb)).as_object();
}

// Returns the names of the path's and the operation's parameters at `place`.
Names parameters_in(const Route& route, std::string_view place) {
  Names names;
  const json::object& path = document().at("paths").at(route.path).as_object();
  for (const json::object* holder : {&path, &operation_of(route)}) {
    const json::value* list = holder->if_contains("parameters");
    if (list == nullptr) continue;
    for (const json::value& each : list->as_array()) {
      if (each.at("in").as_string() == place) names.emplace(each.at("name").as_string());
    }
  }
  return names;
}

Names body_fields(const Route& route) {
  Names names;
  const json::value* body = operation_of(route).if_contains("requestBody");
  if (body == nullptr) return names;
  const json::value& schema = resolved(body->at("content").at("application/json").at("schema"));
  for (const auto& each : schema.at("properties").as_object()) names.emplace(each.key());
  return names;
}

const Method* method_of(const RpcSite& site, const Route& route) {
  for (const Method& method : site.dispatcher.methods()) {
    if (method.name == route.method) return &method;
  }
  return nullptr;
}

TEST(HttpOpenapi, HasEveryRouteAndNoOther) {
  Names described;
  for (const auto& path : document().at("paths").as_object()) {
    for (const auto& verb : path.value().as_object()) {
      if (verb.key() != "parameters") {
        described.insert(std::string(verb.key()) + " " + std::string(path.key()));
      }
    }
  }
  Names served;
  for (const Route& route : routes()) {
    served.insert(lower(route.verb) + " " + std::string(route.path));
  }
  EXPECT_EQ(described, served);
  EXPECT_GT(served.size(), 12U);
}

TEST(HttpOpenapi, HasTheParamsOfTheMethods) {
  RpcSite site;
  for (const Route& route : routes()) {
    if (route.method.empty()) continue;
    const Method* method = method_of(site, route);
    ASSERT_NE(method, nullptr) << route.method;
    Names described = parameters_in(route, "path");
    described.merge(parameters_in(route, "query"));
    described.merge(body_fields(route));
    Names expected(method->params.begin(), method->params.end());
    if (method->mutates) expected.insert("command_id");
    EXPECT_EQ(described, expected) << route.verb << " " << route.path;
    EXPECT_EQ(route.verb == "POST", method->mutates) << route.path;
    EXPECT_EQ(parameters_in(route, "header").contains("Idempotency-Key"), !route.key_param.empty())
        << route.path;
  }
}

TEST(HttpOpenapi, HasTheParametersThatThePathHas) {
  for (const Route& route : routes()) {
    Names in_path;
    for (std::size_t at = route.path.find('{'); at != std::string_view::npos;
         at = route.path.find('{', at + 1)) {
      in_path.emplace(route.path.substr(at + 1, route.path.find('}', at) - at - 1));
    }
    EXPECT_EQ(parameters_in(route, "path"), in_path) << route.path;
  }
}

TEST(HttpOpenapi, HasEveryErrorCodeAndItsStatus) {
  Names described;
  const json::value& problem = document().at("components").at("schemas").at("Problem");
  for (const json::value& each : problem.at("properties").at("code").at("enum").as_array()) {
    described.emplace(each.as_string());
  }
  Names codes;
  Names statuses;
  boost::mp11::mp_for_each<boost::describe::describe_enumerators<ErrorCode>>([&](auto each) {
    codes.emplace(each.name);
    statuses.insert("Problem" + std::to_string(status_of(each.value)));
  });
  EXPECT_EQ(described, codes);
  statuses.erase("Problem500");  // a bug or damage, which no client can expect
  for (const std::string& status : statuses) {
    EXPECT_TRUE(document().at("components").at("responses").as_object().contains(status)) << status;
  }
}

TEST(HttpOpenapi, AndTheTableInTheProtocolHasTheSame) {
  std::ifstream file(SIGNALBOX_SOURCE_DIR "/server/PROTOCOL.md");
  static const std::regex row(R"(\| `((?:GET|POST) [^`]+)` \| (?:`([\w.]+)`)? ?\|.*)");
  std::map<std::string, std::string> described;
  std::smatch found;
  for (std::string line; std::getline(file, line);) {
    if (std::regex_match(line, found, row)) described[found[1]] = found[2];
  }
  std::map<std::string, std::string> served;
  for (const Route& route : routes()) {
    served[std::string(route.verb) + " " + std::string(route.path)] = route.method;
  }
  EXPECT_EQ(described, served);
}

TEST(HttpOpenapi, RefersOnlyToWhatIsThere) {
  const std::string text(openapi_text());
  Names named;
  const std::string mark = "\"$ref\": \"#/components/";
  for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
    const std::size_t begin = at + mark.size();
    named.insert(text.substr(begin, text.find('"', begin) - begin));
  }
  EXPECT_GT(named.size(), 10U);
  Names there;
  for (const char* kind : {"schemas", "responses"}) {
    for (const auto& each : document().at("components").at(kind).as_object()) {
      there.insert(std::string(kind) + "/" + std::string(each.key()));
    }
  }
  for (const std::string& name : named) EXPECT_TRUE(there.contains(name)) << name;
  for (const std::string& name : there) EXPECT_TRUE(named.contains(name)) << name << " is unused";
}

}  // namespace
}  // namespace signalbox
