// Strict parsing of JSON text from clients: RFC 8259, with limits of our own. It is separate
// because Boost.JSON's parser accepts duplicate keys.
#pragma once

#include <string_view>

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

}  // namespace signalbox
