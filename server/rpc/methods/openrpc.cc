#include "server/rpc/methods/openrpc.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "domain/card.h"
#include "domain/limits.h"
#include "domain/plan.h"
#include "domain/policy.h"
#include "domain/world.h"
#include "projections/attention_item.h"
#include "projections/card_index.h"
#include "projections/log_calendar.h"
#include "projections/report.h"
#include "server/rpc/error_json.h"
#include "server/rpc/methods/event_types.h"
#include "server/rpc/methods/param_bounds.h"
#include "server/text/json_schema.h"

namespace signalbox {
namespace {

namespace json = boost::json;

using described_json::Field;
using described_json::Type;

constexpr const char* document_says =
    "JSON-RPC 2.0, one JSON object a line, over a Unix socket or TCP, or as POST /rpc. Params are "
    "given by name. A number may be given as text, and one beyond 2^53 has to be. The length of a "
    "text is counted in bytes of UTF-8. A viewer or approver gets null for every token. "
    "x-role is the least role that may call a method. server/PROTOCOL.md says more.";

json::object parsed_object(std::string_view text) {
  return json::parse({text.data(), text.size()}).as_object();
}

// Returns the object at `key`; an empty one if there is none.
const json::object& part_of(const json::object& object, std::string_view key) {
  static const json::object none;
  const json::value* const part = object.if_contains(key);
  return part == nullptr ? none : part->as_object();
}

void add_bounds(const Type& type, const BoundedParam& bounds, json::object& schema) {
  const Type& held = type.kind == Type::Kind::optional ? *type.inner : type;
  const auto add = [&](const char* least, const char* most) {
    if (held.kind == Type::Kind::integer || bounds.min > 0) schema[least] = bounds.min;
    schema[most] = bounds.max;
  };
  switch (held.kind) {
    case Type::Kind::integer:
      return add("minimum", "maximum");
    case Type::Kind::string:
      return add("minLength", "maxLength");
    case Type::Kind::vector:
      return add("minItems", "maxItems");
    default:
      return add("minProperties", "maxProperties");
  }
}

json::object param_json(std::string_view name, bool is_required, json::object schema) {
  json::object param{{"name", name}};
  if (is_required) param["required"] = true;
  param["schema"] = std::move(schema);
  return param;
}

json::array params_json(const Method& method, const json::object& texts) {
  json::array params;
  for (const Field& field : method.params->fields) {
    const json::value* const written = part_of(texts, "params").if_contains(field.name);
    json::object schema =
        written != nullptr ? written->as_object() : schema_of(field, JsonUse::read);
    if (const BoundedParam* bounds = find_bounds(method.name, field.name)) {
      add_bounds(*field.type, *bounds, schema);
    }
    params.push_back(param_json(field.name, field.type->is_required(), std::move(schema)));
  }
  // OpenRPC has the required params first.
  std::stable_partition(params.begin(), params.end(), [](const json::value& param) {
    return param.as_object().contains("required");
  });
  if (method.mutates) {
    params.push_back(param_json("command_id", false,
                                {{"type", "string"},
                                 {"minLength", 1},
                                 {"maxLength", limits::command_id_bytes_max},
                                 {"description", "the same id again gives the first result"}}));
  }
  if (answers_about_past(method)) {
    params.push_back(param_json("at", false,
                                {{"type", json::array{"string", "integer"}},
                                 {"description",
                                  "a position, a time or an age such as 8h: the "
                                  "answer is that of this moment"}}));
  }
  return params;
}

std::vector<ErrorCode> common_errors(const Method& method) {
  std::vector<ErrorCode> codes{ErrorCode::INVALID_REQUEST, ErrorCode::INVALID_PARAMS,
                               ErrorCode::INTERNAL,        ErrorCode::LIMIT_EXCEEDED,
                               ErrorCode::STORAGE_FULL,    ErrorCode::STORAGE_DAMAGED,
                               ErrorCode::OVERLOADED,      ErrorCode::SHUTTING_DOWN,
                               ErrorCode::HISTORY_DROPPED, ErrorCode::READ_MODELS_REBUILDING,
                               ErrorCode::NOT_ALLOWED,     ErrorCode::UNAUTHENTICATED};
  if (method.needs) codes.push_back(ErrorCode::FORBIDDEN);
  if (needs_writer(method)) {
    codes.push_back(ErrorCode::NOT_ACTIVE);
    codes.push_back(ErrorCode::STORAGE_AWAY);
  }
  if (method.mutates) {
    codes.push_back(ErrorCode::IDEMPOTENCY_CONFLICT);
    codes.push_back(ErrorCode::UNKNOWN_OUTCOME);
  } else {
    codes.push_back(ErrorCode::POSITION_NOT_FOUND);
  }
  return codes;
}

json::object reference(const char* kind, std::string_view name) {
  return {{"$ref", "#/components/" + std::string(kind) + "/" + std::string(name)}};
}

// Those of its own come first.
json::array errors_json(const Method& method, const json::object& texts) {
  json::array errors;
  if (const json::value* const own = texts.if_contains("errors")) {
    for (const json::value& code : own->as_array()) {
      errors.push_back(reference("errors", std::string_view(code.as_string())));
    }
  }
  for (const ErrorCode code : common_errors(method)) {
    json::value error = reference("errors", name_of(code));
    if (std::find(errors.begin(), errors.end(), error) == errors.end()) {
      errors.push_back(std::move(error));
    }
  }
  return errors;
}

json::object method_json(const Method& method, const json::object& texts) {
  json::object described{{"name", method.name}};
  if (const json::value* const summary = texts.if_contains("summary")) {
    described["summary"] = *summary;
  }
  described["paramStructure"] = "by-name";
  described["params"] = params_json(method, texts);
  described["result"] = {{"name", "result"}, {"schema", part_of(texts, "result")}};
  described["errors"] = errors_json(method, texts);
  described["x-role"] = method.needs ? json::value(name_of(*method.needs)) : json::value(nullptr);
  described["x-mutating"] = method.mutates;
  return described;
}

json::object all_errors() {
  json::object errors;
  for (const described_json::Enumerator& each : described_json::enumerators_of<ErrorCode>) {
    errors[each.name] = {
        {"code", each.value}, {"message", each.name}, {"data", json::object{{"code", each.name}}}};
  }
  return errors;
}

// Returns the schemas of the described types that results have parts of.
json::object described_schemas() {
  json::object schemas;
  const auto add = [&schemas](const char* name, const Type& type) {
    schemas[name] = schema_of(type, JsonUse::written);
  };
  add("AttentionKind", described_json::type_of<AttentionKind>);
  add("CardCounts", described_json::type_of<CardCounts>);
  add("CardStatus", described_json::type_of<CardStatus>);
  add("ErrorClass", described_json::type_of<ErrorClass>);
  add("Exploration", described_json::type_of<Exploration>);
  add("LogMarkKind", described_json::type_of<LogMarkKind>);
  add("PlanStatus", described_json::type_of<PlanStatus>);
  add("Policy", described_json::type_of<Policy>);
  add("ReportedAttempts", described_json::type_of<ReportedAttempts>);
  add("ReportedCards", described_json::type_of<ReportedCards>);
  add("ReportedRuns", described_json::type_of<ReportedRuns>);
  add("ReportedTicks", described_json::type_of<ReportedTicks>);
  add("Role", described_json::type_of<Role>);
  add("ServicePause", described_json::type_of<ServicePause>);
  add("StepStatus", described_json::type_of<StepStatus>);
  add("TodoStatus", described_json::type_of<TodoStatus>);
  return schemas;
}

// Adds the schemas that `part` refers to, and those that they refer to.
void add_referenced(const json::value& part, const json::object& all, json::object& schemas) {
  constexpr std::string_view place = "#/components/schemas/";
  if (const json::array* const list = part.if_array()) {
    for (const json::value& each : *list) add_referenced(each, all, schemas);
    return;
  }
  const json::object* const object = part.if_object();
  if (object == nullptr) return;
  for (const auto& each : *object) add_referenced(each.value(), all, schemas);
  const json::value* const pointer = object->if_contains("$ref");
  if (pointer == nullptr || !pointer->is_string()) return;
  const std::string_view target(pointer->get_string());
  if (!target.starts_with(place)) return;
  const std::string_view name = target.substr(place.size());
  const json::value* const found = all.if_contains(name);
  if (found == nullptr || schemas.contains(name)) return;
  schemas[name] = *found;
  add_referenced(*found, all, schemas);
}

}  // namespace

std::string openrpc_document(std::span<const Method> methods, std::string_view openapi) {
  const json::object texts = parsed_object(method_texts());
  json::array described;
  for (const Method& method : methods) {
    described.push_back(method_json(method, part_of(part_of(texts, "methods"), method.name)));
  }
  json::object all = part_of(part_of(parsed_object(openapi), "components"), "schemas");
  const json::object of_structs = described_schemas();
  for (const json::object* const more : {&of_structs, &part_of(texts, "schemas")}) {
    for (const auto& each : *more) all[each.key()] = each.value();
  }
  json::value list(std::move(described));
  json::object schemas;
  add_referenced(list, all, schemas);
  json::object document;
  document["openrpc"] = "1.3.2";
  document["info"] = {
      {"title", "Signalbox"}, {"version", SIGNALBOX_VERSION}, {"description", document_says}};
  document["methods"] = std::move(list);
  document["components"] = {{"schemas", std::move(schemas)}, {"errors", all_errors()}};
  document["x-events"] = described_events();
  return json::serialize(document) + "\n";
}

}  // namespace signalbox
