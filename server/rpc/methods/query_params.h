// Params of queries that may be written in several ways, because HTTP has texts only and people
// write ages. Each function replaces a param by the form that the method's struct has.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>

#include "domain/error.h"

namespace signalbox {

// Replaces a text ("failed,canceled") by the list of its parts, and removes a null.
void split_list(boost::json::object& params, std::string_view name);
// Replaces the texts "true" and "false" by what they say.
void read_flag(boost::json::object& params, std::string_view name);
// Replaces a number by its text.
void read_moment(boost::json::object& params, std::string_view name);

// Returns the nanoseconds since the epoch, UTC, of a time or an age. INVALID_PARAMS with the field.
Decided<std::int64_t> read_time_or_age(const char* field, const std::string& text,
                                       std::int64_t now_ns);

}  // namespace signalbox
