// Compares answers on the socket with the OpenRPC document of this program: each key of a result
// with its type, and the code of an error.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "server/replay/own_methods.h"
#include "server/transport/http/openapi.h"
#include "tests/scenarios/described_answer.h"

namespace signalbox::openrpc {

inline const boost::json::object& document() {
  static const boost::json::object parsed = [] {
    const auto text = describe_own_methods(openapi_text());
    if (!text) throw std::runtime_error(text.error().message);
    return boost::json::parse(*text).as_object();
  }();
  return parsed;
}

// Returns what is said of a method; nullptr if there is none of this name.
inline const boost::json::object* find_method(const std::string& name) {
  for (const boost::json::value& each : document().at("methods").as_array()) {
    if (each.at("name").as_string() == name) return &each.as_object();
  }
  return nullptr;
}

// Returns what the document doesn't say of an answer with "result" or "error".
inline openapi::Complaints undescribed(const std::string& method,
                                       const boost::json::object& answer) {
  const boost::json::object* const described = find_method(method);
  if (described == nullptr) return {};
  openapi::Complaints complaints;
  if (const boost::json::value* const result = answer.if_contains("result")) {
    openapi::check_value(*result, described->at("result").at("schema").as_object(), method,
                         complaints, document());
  }
  if (const boost::json::value* const error = answer.if_contains("error")) {
    const std::string code(error->at("data").at("code").as_string());
    const boost::json::value reference =
        boost::json::object{{"$ref", "#/components/errors/" + code}};
    const boost::json::array& errors = described->at("errors").as_array();
    if (std::find(errors.begin(), errors.end(), reference) == errors.end()) {
      complaints.push_back(method + " answers " + code);
    }
  }
  return complaints;
}

// Returns what the document doesn't say of the data of an event, as `events.read` has it.
inline openapi::Complaints undescribed_event(const boost::json::object& event) {
  const std::string type(event.at("type").as_string());
  for (const boost::json::value& each : document().at("x-events").as_array()) {
    if (each.at("type").as_string() != type) continue;
    openapi::Complaints complaints;
    openapi::check_value(event.at("data"), each.at("data").as_object(), type, complaints,
                         document());
    return complaints;
  }
  return {"no type " + type};
}

inline void expect_described(const std::string& method, const boost::json::object& answer) {
  for (const std::string& complaint : undescribed(method, answer)) {
    ADD_FAILURE() << "openrpc: " << complaint;
  }
}

}  // namespace signalbox::openrpc
