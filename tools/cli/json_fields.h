// Fields of an answer, read leniently for display: what isn't there is empty.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

namespace signalbox {

// Strings as they are, other scalars as JSON; empty for null, objects, arrays and what is missing.
std::string text_at(const boost::json::object& object, std::string_view key);
// Numbers, quoted ones too; 0 where there is none.
std::uint64_t number_at(const boost::json::object& object, std::string_view key);
bool true_at(const boost::json::object& object, std::string_view key);
const boost::json::array& array_at(const boost::json::object& object, std::string_view key);
const boost::json::object& object_at(const boost::json::object& object, std::string_view key);

// A scalar as text_at() gives it.
std::string scalar_text(const boost::json::value& value);

// Indented by two spaces, for people.
std::string indented(const boost::json::value& value);

}  // namespace signalbox
