// Strict JSON text: what a client may send, and nothing else (RFC 8259, with our limits).
#pragma once

#include <string_view>

#include <boost/json/storage_ptr.hpp>
#include <boost/json/value.hpp>

#include "domain/error.h"

namespace signalbox {

inline constexpr std::size_t json_depth_max = 32;

// Refuses with PARSE_ERROR: bad syntax, invalid UTF-8, more than json_depth_max levels, an object
// with one key twice, and anything after the value. The message names the byte.
Decided<boost::json::value> parse_json(std::string_view text,
                                       boost::json::storage_ptr storage = {});

}  // namespace signalbox
