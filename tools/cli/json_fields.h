// Reads fields of an answer leniently, for display: a missing field is empty.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

namespace signalbox {

// Returns a string as it is, another scalar as JSON; empty for null, an object, an array or a
// missing field.
std::string text_at(const boost::json::object& object, std::string_view key);
// Returns a number, also a quoted one; 0 if there is none.
std::uint64_t number_at(const boost::json::object& object, std::string_view key);
bool true_at(const boost::json::object& object, std::string_view key);
const boost::json::array& array_at(const boost::json::object& object, std::string_view key);
const boost::json::object& object_at(const boost::json::object& object, std::string_view key);

// Returns the value as text_at() does.
std::string scalar_text(const boost::json::value& value);
// Returns the values as text_at() does, with ", " between each two.
std::string comma_separated(const boost::json::array& values);

// Returns the object with all texts and keys in it as printable_lines() returns them, for views:
// their texts come from others, and not every view makes them printable itself.
boost::json::object printable_fields(const boost::json::object& object);

// Serializes with indentation by two spaces, for people.
std::string indented(const boost::json::value& value);

}  // namespace signalbox
