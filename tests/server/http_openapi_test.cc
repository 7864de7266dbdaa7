// Compares server/transport/http/openapi.json with the code: the routes, their params, the errors,
// the values of enumerations, and that each schema says what a client generated from it needs.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>

#include "projections/why.h"
#include "server/rpc/pipeline_json.h"
#include "server/transport/http/openapi.h"
#include "server/transport/http/problem.h"
#include "server/transport/http/route.h"
#include "tests/scenarios/described_answer.h"
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
    Names expected;
    for (const auto& param : method->params->fields) expected.emplace(param.name);
    if (method->mutates) expected.insert("command_id");
    if (answers_about_past(*method)) expected.insert("at");
    if (route.kind == RouteKind::output) {  // the header Range says it
      expected.erase("offset");
      expected.erase("bytes");
    }
    if (route.kind == RouteKind::stream)
      expected.merge(Names{"framing", "fields", "per_second_max"});
    EXPECT_EQ(described, expected) << route.verb << " " << route.path;
    EXPECT_EQ(route.verb != "GET", method->mutates) << route.path;
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
  for (const std::string& status : statuses) {
    EXPECT_TRUE(document().at("components").at("responses").as_object().contains(status)) << status;
  }
}

TEST(HttpOpenapi, HasEveryRefusalOfARoute) {  // A16
  for (const Route& route : routes()) {
    // Those of the header, which may come whatever the path.
    Names expected{"400", "403", "405", "408", "421", "431", "501"};
    if (route.verb != "GET") expected.merge(Names{"413", "415"});
    const bool is_open = operation_of(route).contains("security");
    if (!is_open) expected.insert("401");
    // Of a method's refusals, `/rpc` makes answers with status 200.
    if (!route.method.empty()) expected.merge(Names{"422", "429", "500", "503"});
    if (route.path.find("{run_id}") != std::string_view::npos) expected.merge(Names{"404", "410"});
    const json::object& responses = operation_of(route).at("responses").as_object();
    for (const std::string& status : expected) {
      EXPECT_TRUE(responses.contains(status)) << route.verb << " " << route.path << " " << status;
    }
  }
  const json::object& refusals = document().at("components").at("responses").as_object();
  EXPECT_TRUE(refusals.at("Problem405").at("headers").as_object().contains("Allow"));
  EXPECT_TRUE(refusals.at("Problem429").at("headers").as_object().contains("Retry-After"));
}

// Adds each place in the document where a client that is generated from it would get no type.
void find_untyped(const json::value& part, const std::string& place, Names& found) {
  if (const json::array* list = part.if_array()) {
    for (std::size_t index = 0; index < list->size(); ++index) {
      find_untyped((*list)[index], place + "/" + std::to_string(index), found);
    }
    return;
  }
  const json::object* object = part.if_object();
  if (object == nullptr) return;
  const json::value* type = object->if_contains("type");
  if (type != nullptr && *type == "object" && !object->contains("properties") &&
      !object->contains("additionalProperties")) {
    found.insert(place + " is an object without keys");
  }
  if (type != nullptr && *type == "array" && !object->contains("items")) {
    found.insert(place + " has elements of no type");
  }
  const json::value* properties = object->if_contains("properties");
  const json::value* required = object->if_contains("required");
  if (properties != nullptr && required != nullptr && required->is_array()) {
    for (const json::value& each : required->get_array()) {
      if (properties->as_object().contains(each.as_string())) continue;
      found.insert(place + " requires " + std::string(each.as_string()));
    }
  }
  for (const auto& field : *object) {
    const std::string inner = place + "/" + std::string(field.key());
    const json::object* schema = field.value().if_object();
    const bool is_schema = field.key() == "schema" || field.key() == "items" ||
                           place.ends_with("/properties") || place == "/components/schemas";
    if (is_schema && schema != nullptr && !schema->contains("type") && !schema->contains("$ref")) {
      found.insert(inner + " has no type");
    }
    find_untyped(field.value(), inner, found);
  }
}

TEST(HttpOpenapi, TypesEveryParamAndEveryAnswer) {  // A16
  Names found;
  find_untyped(json::value(document()), "", found);
  // What is started with any JSON value is shown with it.
  for (const char* schema : {"StartRun", "Run"}) {
    EXPECT_EQ(
        found.erase("/components/schemas/" + std::string(schema) + "/properties/input has no type"),
        1U);
  }
  for (const std::string& each : found) ADD_FAILURE() << each;
}

template <class Enum>
Names names_of_enumerators() {
  Names names;
  boost::mp11::mp_for_each<boost::describe::describe_enumerators<Enum>>(
      [&](auto each) { names.emplace(each.name); });
  return names;
}

// Returns the values of the enumeration at a schema, or at one of its properties.
Names described_values(const std::string& schema, const std::string& property = {}) {
  const json::value* part = &document().at("components").at("schemas").at(schema);
  if (!property.empty()) part = &part->at("properties").at(property);
  Names names;
  for (const json::value& each : part->at("enum").as_array()) names.emplace(each.as_string());
  return names;
}

TEST(HttpOpenapi, HasTheValuesOfTheEnumerations) {  // A16
  EXPECT_EQ(described_values("RunStatus"), names_of_enumerators<RunStatus>());
  EXPECT_EQ(described_values("StationStatus"), names_of_enumerators<StationStatus>());
  EXPECT_EQ(described_values("WaitReason"), names_of_enumerators<WaitReason>());
  EXPECT_EQ(described_values("ExecutorKind"), names_of_enumerators<ExecutorKind>());
  EXPECT_EQ(described_values("Strategy"), names_of_enumerators<Strategy>());
  EXPECT_EQ(described_values("StallAction"), names_of_enumerators<StallAction>());
  EXPECT_EQ(described_values("Attempt", "outcome"), names_of_enumerators<Outcome>());
  EXPECT_EQ(described_values("WhyReason", "reason"), names_of_enumerators<WhyReason>());
  EXPECT_EQ(described_values("Resume", "decision"), names_of_enumerators<Decision>());
}

// The document's keys of a station are those that are read: each is here, and one more is refused.
TEST(HttpOpenapi, HasTheTablesOfAPipeline) {  // A16
  const json::value tables =
      json::parse(R"({"name":"all","runs_on":["gpu"],"budget":{"tokens":5},"station":[
    {"name":"make","executor":"process","command":["make"],"timeout":"1h","heartbeat_timeout":"1m",
     "cancel_grace":"5s","require_result":true,"environment":["HOME"],"allow":["locks","ticks"],
     "remote":"origin","retry":{"max_retries":1,"backoff":"1s","strategies":["original"]},
     "stall_after":"5m","stall_actions":["nudge","fail"]},
    {"name":"code","executor":"coderunner",
     "coderunner":{"agent":"codex","mode":"mock","prompt":"p","model":"m"}},
    {"name":"far","executor":"modal","modal":{"endpoint":"https://localhost/job","poll":"2s"}},
    {"name":"check","executor":"checks","instructions":"AGENTS.md",
     "checks":[{"name":"test","command":["make","test"],"timeout":"1m"}]},
    {"name":"deep","executor":"deep_work","deep_work":{"explore":{"command":["x"]},
     "plan":{"worker":true},"step":{"worker":false},"max_files":5,"explore_timeout":"1m",
     "max_steps":5,"max_retries":1,"retry_delay":"1s","step_timeout":"1m",
     "strategies":["original","simplified"]}}]})");
  for (const std::string& complaint : openapi::compared_with("Pipeline", tables)) {
    ADD_FAILURE() << complaint;
  }
  const auto read = pipeline_from_json(tables);
  EXPECT_TRUE(read) << read.error().message;
  Names used;
  const json::array& stations = tables.at("station").as_array();
  for (const json::value& station : stations) {
    for (const auto& field : station.as_object()) used.emplace(field.key());
  }
  Names described;
  const json::value& schemas = document().at("components").at("schemas");
  for (const auto& each : schemas.at("PipelineStation").at("properties").as_object()) {
    described.emplace(each.key());
  }
  EXPECT_EQ(used, described);
}

// The comparison that all tests over HTTP make can fail.
TEST(HttpOpenapi, AnAnswerThatIsNotDescribedIsNoticed) {  // A16
  const auto complaints = [](const char* verb, const char* target, unsigned status,
                             const char* media_type, const char* body) {
    return openapi::undescribed(verb, target, {status, media_type, body}).size();
  };
  const char* const json_type = "application/json";
  EXPECT_EQ(complaints("GET", "/healthz", 200, json_type, R"({"status":"ok"})"), 0U);
  EXPECT_EQ(complaints("GET", "/healthz", 200, json_type, R"({"status":7})"), 1U);
  EXPECT_EQ(complaints("GET", "/healthz", 200, json_type, R"({"status":"ok","more":1})"), 1U);
  EXPECT_EQ(complaints("GET", "/healthz", 200, json_type, "{}"), 1U);
  EXPECT_EQ(complaints("GET", "/healthz", 418, json_type, "{}"), 1U);
  EXPECT_EQ(complaints("GET", "/healthz", 200, "text/plain", "ok"), 1U);
  const char* const runs = R"({"runs":[{}],"next_cursor":null,"position":"9007199254740993"})";
  EXPECT_GT(complaints("GET", "/v1/runs?limit=1", 200, json_type, runs), 10U);
  EXPECT_EQ(complaints("GET", "/v1/runs/7/artifacts/a/b", 200, "text/html", "<p>"), 0U);
  EXPECT_EQ(complaints("DELETE", "/v1/runs", 405, "application/problem+json", "{}"), 7U);
}

TEST(HttpOpenapi, AndTheTableInTheProtocolHasTheSame) {
  std::ifstream file(SIGNALBOX_SOURCE_DIR "/server/PROTOCOL.md");
  static const std::regex row(R"(\| `((?:GET|POST|PUT) [^`]+)` \| (?:`([\w.]+)`)? ?\|.*)");
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
