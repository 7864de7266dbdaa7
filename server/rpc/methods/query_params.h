// Params of queries that may be written in several ways, because HTTP has texts only and people
// write ages. Each function replaces a param by the form that the method's struct has.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/object.hpp>

#include "domain/error.h"
#include "store/event_log.h"

namespace signalbox {

// Replaces a text ("failed,canceled") by the list of its parts, and removes a null.
void split_list(boost::json::object& params, std::string_view name);
// Returns the values of a filter, each once: each of many rows is compared with all of them, and a
// request has space for 100,000.
template <class T>
std::vector<T> distinct(std::vector<T> values) {
  std::ranges::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}
// Replaces the texts "true" and "false" by what they say.
void read_flag(boost::json::object& params, std::string_view name);
// Replaces a number by its text.
void read_moment(boost::json::object& params, std::string_view name);

// Returns the nanoseconds since the epoch, UTC, of a time or an age. INVALID_PARAMS with the field.
Decided<std::int64_t> read_time_or_age(const char* field, const std::string& text,
                                       std::int64_t now_ns);

// A span of time, UTC.
struct TimeSpan {
  std::int64_t from_ns = 0;   // inclusive
  std::int64_t until_ns = 0;  // exclusive, after from_ns
};

// Returns the span from one moment to another, which belongs to it, each a position, a time or an
// age; a missing one is that of `otherwise`. INVALID_PARAMS with the field for anything else, and
// if `to` is before `from`; POSITION_NOT_FOUND; HISTORY_DROPPED; STORAGE_DAMAGED. Reads the log for
// positions.
Decided<TimeSpan> read_time_span(const EventLog& log, const TimeSpan& otherwise,
                                 const std::optional<std::string>& from,
                                 const std::optional<std::string>& to, std::int64_t now_ns);

}  // namespace signalbox
