// Strict parsing of JSON text from clients: RFC 8259, with limits of our own. It is separate
// because Boost.JSON's parser accepts duplicate keys. Text of agents, which cut JSON where they
// like, is mended before it is parsed.
#pragma once

#include <string>
#include <string_view>

#include <boost/json/error.hpp>
#include <boost/json/object.hpp>
#include <boost/json/storage_ptr.hpp>
#include <boost/json/value.hpp>

#include "domain/error.h"

namespace signalbox {

inline constexpr std::size_t json_depth_max = 32;

// Parses one JSON value into `storage`. PARSE_ERROR for bad syntax, invalid UTF-8, more than
// json_depth_max levels of nesting, an object with a duplicate key, and anything but white space
// after the value. Its details have the byte (0 for a duplicate key).
Decided<boost::json::value> parse_json(std::string_view text,
                                       boost::json::storage_ptr storage = {});

// Parses like parse_json(), but PARSE_ERROR for more than `values_max` values, too: each of them
// takes memory, and the shortest ones take many times that of their text.
Decided<boost::json::value> parse_bounded_json(std::string_view text, std::size_t values_max);

// Parses an answer of this program. It has levels of its own around what clients have sent, so it
// is deeper than a request may be. U+FFFD replaces bytes that aren't UTF-8, which earlier versions
// have recorded. Sets `error` for what isn't JSON.
boost::json::value parse_answer(std::string_view text, boost::json::error_code& error);
// Returns the object in an answer that this process has made itself.
boost::json::object parse_own_answer(std::string_view text);

// Returns the text as UTF-8 that a JSON parser takes, if its structure is that of JSON: U+FFFD
// replaces invalid bytes, escaped halves of surrogate pairs, and NUL; raw control characters in
// strings become escapes. Agents cut the output of tools where they like, and a result is never
// thrown away for that.
std::string readable_json(std::string_view json);

}  // namespace signalbox
