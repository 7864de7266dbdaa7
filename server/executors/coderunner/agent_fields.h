// Reads fields of an external JSON object that may be missing or of another type.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "domain/limits.h"

namespace signalbox {

// Returns the field's object; nullptr if it is missing or of another type.
inline const boost::json::object* object_field(const boost::json::object& object,
                                               const char* name) {
  const boost::json::value* field = object.if_contains(name);
  return field != nullptr ? field->if_object() : nullptr;
}

// Returns the field's text; empty if it is missing or of another type.
inline std::string text_field(const boost::json::object& object, const char* name) {
  const boost::json::value* field = object.if_contains(name);
  const boost::json::string* text = field != nullptr ? field->if_string() : nullptr;
  return text != nullptr ? std::string(*text) : std::string();
}

// Returns the field's number times `scale`, rounded, from 0 to limits::usage_max; 0 if it is
// missing or no number.
inline std::int64_t figure_field(const boost::json::object& object, const char* name,
                                 double scale = 1) {
  const boost::json::value* field = object.if_contains(name);
  if (field == nullptr || !field->is_number()) return 0;
  const double figure = std::round(field->to_number<double>() * scale);
  if (!(figure > 0)) return 0;
  const auto most = static_cast<double>(limits::usage_max);
  return static_cast<std::int64_t>(figure < most ? figure : most);
}

}  // namespace signalbox
