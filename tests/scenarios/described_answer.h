// Compares answers over HTTP with server/transport/http/openapi.json: the status, the media type,
// and each key with its type. HttpClient::ask() does so for every answer, so the tests of the
// routes hold the document to what is really served.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "tests/fixtures/file_content.h"

namespace signalbox::openapi {

using Complaints = std::vector<std::string>;

inline const boost::json::object& document() {
  static const boost::json::object parsed =
      boost::json::parse(content_of(std::filesystem::path(SIGNALBOX_SOURCE_DIR) /
                                    "server/transport/http/openapi.json"))
          .as_object();
  return parsed;
}

// Returns what a reference such as "#/components/schemas/Name" refers to, or `part` itself. `root`
// is the document that both are in.
inline const boost::json::object& resolved(const boost::json::object& part,
                                           const boost::json::object& root = document()) {
  const boost::json::value* reference = part.if_contains("$ref");
  if (reference == nullptr) return part;
  const std::string pointer(reference->as_string());
  const std::size_t name = pointer.rfind('/');
  const std::size_t kind = pointer.rfind('/', name - 1);
  const boost::json::value& components = root.at("components");
  return components.at(pointer.substr(kind + 1, name - kind - 1))
      .at(pointer.substr(name + 1))
      .as_object();
}

inline bool has_type(const boost::json::value& value, const std::string& type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_bool();
  if (type == "null") return value.is_null();
  if (type == "integer") return value.is_int64() || value.is_uint64();
  return type == "number" && value.is_number();
}

inline bool fits_type(const boost::json::value& value, const boost::json::value& type) {
  if (type.is_string()) return has_type(value, std::string(type.get_string()));
  const boost::json::array& types = type.as_array();
  return std::any_of(types.begin(), types.end(), [&value](const boost::json::value& each) {
    return has_type(value, std::string(each.as_string()));
  });
}

// Adds what the schema doesn't say of the value: a key that it doesn't have, one that it requires,
// another type, a value that isn't among its own. `place` names the value in complaints.
inline void check_value(const boost::json::value& value, const boost::json::object& described,
                        const std::string& place, Complaints& complaints,
                        const boost::json::object& root = document()) {
  const boost::json::object& schema = resolved(described, root);
  if (const boost::json::value* any = schema.if_contains("anyOf")) {
    Complaints of_first;
    for (const boost::json::value& each : any->as_array()) {
      Complaints found;
      check_value(value, each.as_object(), place, found, root);
      if (found.empty()) return;
      if (of_first.empty()) of_first = std::move(found);
    }
    complaints.insert(complaints.end(), of_first.begin(), of_first.end());
    return;
  }
  const boost::json::value* type = schema.if_contains("type");
  if (type != nullptr && !fits_type(value, *type)) {
    return complaints.push_back(place + " is " + boost::json::serialize(value) +
                                ", and isn't of type " + boost::json::serialize(*type));
  }
  if (const boost::json::value* allowed = schema.if_contains("enum")) {
    const boost::json::array& values = allowed->as_array();
    if (std::find(values.begin(), values.end(), value) == values.end()) {
      complaints.push_back(place + " has no value " + boost::json::serialize(value));
    }
  }
  if (type == nullptr) return;  // any value
  if (value.is_array()) {
    const boost::json::object& items = schema.at("items").as_object();
    const boost::json::array& elements = value.get_array();
    for (std::size_t index = 0; index < elements.size(); ++index) {
      check_value(elements[index], items, place + "[" + std::to_string(index) + "]", complaints,
                  root);
    }
  }
  if (!value.is_object()) return;
  const boost::json::object& object = value.get_object();
  if (const boost::json::value* required = schema.if_contains("required")) {
    for (const boost::json::value& key : required->as_array()) {
      if (object.contains(key.as_string())) continue;
      complaints.push_back(place + " has no " + std::string(key.as_string()));
    }
  }
  const boost::json::value* properties = schema.if_contains("properties");
  const boost::json::value* others = schema.if_contains("additionalProperties");
  for (const auto& field : object) {
    const std::string inner = place + "." + std::string(field.key());
    const boost::json::value* property =
        properties == nullptr ? nullptr : properties->as_object().if_contains(field.key());
    if (property == nullptr) property = others;
    if (property == nullptr || *property == boost::json::value(false)) {
      complaints.push_back(inner + " isn't described");
    } else if (property->is_object()) {  // else it is `true`: any value
      check_value(field.value(), property->get_object(), inner, complaints, root);
    }
  }
}

// Returns what doesn't fit the schema of this name.
inline Complaints compared_with(const std::string& schema, const boost::json::value& value) {
  Complaints complaints;
  const boost::json::object reference{{"$ref", "#/components/schemas/" + schema}};
  check_value(value, reference, schema, complaints);
  return complaints;
}

// Returns whether a path such as `/v1/runs/7` matches `/v1/runs/{run_id}`. The name of an artifact
// may have slashes.
inline bool matches(std::string_view path, std::string_view pattern) {
  while (path.starts_with('/') && pattern.starts_with('/')) {
    path.remove_prefix(1);
    pattern.remove_prefix(1);
    const std::string_view part = path.substr(0, path.find('/'));
    const std::string_view expected = pattern.substr(0, pattern.find('/'));
    if (expected == "{name}") return !part.empty();
    if (expected.starts_with('{') ? part.empty() : part != expected) return false;
    path.remove_prefix(part.size());
    pattern.remove_prefix(expected.size());
  }
  return path.empty() && pattern.empty();
}

// Returns the operation that a request asks for; nullptr if there is no such path, or it doesn't
// take this verb.
inline const boost::json::object* find_operation(std::string_view verb, std::string_view target) {
  std::string_view path = target.substr(0, target.find('?'));
  constexpr std::string_view scheme = "http://";
  if (path.starts_with(scheme))
    path = path.substr(std::min(path.size(), path.find('/', scheme.size())));
  std::string name(verb == "HEAD" ? "GET" : verb);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char each) { return static_cast<char>(each - 'A' + 'a'); });
  const boost::json::object& paths = document().at("paths").as_object();
  for (const auto& each : paths) {
    const std::string pattern(each.key());
    if (!matches(path, pattern)) continue;
    const boost::json::value* operation = each.value().as_object().if_contains(name);
    return operation == nullptr ? nullptr : &operation->as_object();
  }
  return nullptr;
}

struct Answer {
  unsigned status = 0;
  std::string media_type;
  std::string_view body;
};

// Returns what the document doesn't say of an answer.
inline Complaints undescribed(std::string_view verb, std::string_view target,
                              const Answer& answer) {
  const std::string essence = answer.media_type.substr(0, answer.media_type.find(';'));
  const boost::json::object* operation = find_operation(verb, target);
  boost::system::error_code error;
  boost::json::value value;
  if (essence.ends_with("json") && !answer.body.empty()) {
    value = boost::json::parse({answer.body.data(), answer.body.size()}, error);
  }
  // A refusal of what isn't described is a problem as any other.
  if (operation == nullptr) {
    const bool is_problem = essence == "application/problem+json" && !answer.body.empty();
    return is_problem && !error ? compared_with("Problem", value) : Complaints{};
  }
  const std::string place = std::string(verb) + " " + std::string(target.substr(0, 200)) + " " +
                            std::to_string(answer.status);
  const boost::json::object& responses = operation->at("responses").as_object();
  const boost::json::value* response = responses.if_contains(std::to_string(answer.status));
  if (response == nullptr) return {place + " isn't described"};
  if (answer.body.empty()) return {};
  const boost::json::value* content = resolved(response->as_object()).if_contains("content");
  if (content == nullptr) return {place + " has a body"};
  const boost::json::object& media_types = content->as_object();
  const boost::json::value* media = media_types.if_contains(essence);
  if (media == nullptr && media_types.contains("*/*")) return {};
  if (media == nullptr) return {place + " is " + essence};
  if (!essence.ends_with("json")) return {};
  if (error) return {place + " isn't JSON"};
  Complaints complaints;
  check_value(value, media->at("schema").as_object(), place, complaints);
  return complaints;
}

// Expects that the document says everything of the answer.
inline void expect_described(std::string_view verb, std::string_view target, const Answer& answer) {
  const Complaints complaints = undescribed(verb, target, answer);
  for (const std::string& complaint : complaints) ADD_FAILURE() << "openapi.json: " << complaint;
}

// Expects the same of the data of an event of the stream `/v1/events`.
inline void expect_described_event(const std::string& event, const boost::json::object& data) {
  std::string schema = event.find('.') == std::string::npos ? "Event" : "Broadcast";
  if (event == "skipped") schema = "Skipped";
  if (event == "lagged") schema = "Lagged";
  if (event == "failed") schema = "Failed";
  const Complaints complaints = compared_with(schema, data);
  for (const std::string& complaint : complaints) ADD_FAILURE() << "openapi.json: " << complaint;
}

}  // namespace signalbox::openapi
