// Strict parsing of JSON text from clients: RFC 8259, with limits of our own. It is separate
// because Boost.JSON's parser accepts duplicate keys.
#pragma once

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

// Parses an answer of this program. It has levels of its own around what clients have sent, so it
// is deeper than a request may be. Sets `error` for what isn't JSON.
boost::json::value parse_answer(std::string_view text, boost::json::error_code& error);
// Returns the object in an answer that this process has made itself.
boost::json::object parse_own_answer(std::string_view text);

}  // namespace signalbox
