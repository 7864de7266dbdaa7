#include "server/rpc/methods/query_params.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "domain/try.h"
#include "server/engine/moment.h"
#include "server/rpc/read_models.h"
#include "server/text/separated_text.h"

namespace signalbox {

namespace json = boost::json;

void split_list(json::object& params, std::string_view name) {
  json::value* const value = params.if_contains(name);
  if (value == nullptr) return;
  if (value->is_null()) {
    params.erase(name);
    return;
  }
  if (!value->is_string()) return;
  const std::string text(value->get_string().data(), value->get_string().size());
  json::array parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    parts.emplace_back(json::string_view(text).substr(begin, end - begin));
    begin = end + 1;
  }
  *value = std::move(parts);
}

void read_flag(json::object& params, std::string_view name) {
  json::value* const value = params.if_contains(name);
  if (value == nullptr || !value->is_string()) return;
  const std::string_view text(value->get_string().data(), value->get_string().size());
  if (text == "true") {
    *value = true;
  } else if (text == "false") {
    *value = false;
  }
}

void read_moment(json::object& params, std::string_view name) {
  json::value* const value = params.if_contains(name);
  if (value == nullptr || (!value->is_int64() && !value->is_uint64())) return;
  const std::string text = json::serialize(*value);
  *value = json::string_view(text);
}

Decided<std::int64_t> read_time_or_age(const char* field, const std::string& text,
                                       std::int64_t now_ns) {
  if (const auto time = parse_time_or_age(text, now_ns)) return *time;
  return reject(
      ErrorCode::INVALID_PARAMS,
      std::string(field) + " must be a time such as 2026-01-31T23:59:59Z or an age such as 8h",
      {{"field", std::string(field)}, {"value", text}});
}

namespace {

// About the years 1906 to 2160, so that no sum or difference of times overflows.
constexpr std::int64_t earliest_ns = -2'000'000'000'000'000'000;
constexpr std::int64_t latest_ns = 6'000'000'000'000'000'000;
constexpr std::int64_t span_ns_max = 100LL * 366 * 24 * 3600 * 1'000'000'000;
static_assert(latest_ns + span_ns_max < std::numeric_limits<std::int64_t>::max());

Decided<std::int64_t> time_of_moment(const EventLog& log, const char* field,
                                     const std::string& moment, std::int64_t now_ns) {
  if (!whole_number<Position>(moment)) {
    if (const auto time = parse_time_or_age(moment, now_ns)) return *time;
    return reject(ErrorCode::INVALID_PARAMS,
                  std::string(field) + " must be a position, a time or an age such as 8h",
                  {{"field", std::string(field)}, {"value", moment}});
  }
  const auto position = TRY(find_shown_moment(log, moment, now_ns));
  const auto time = recorded_at(log, position);
  if (!time) return unreadable(time.error());
  return *time;
}

}  // namespace

Decided<TimeSpan> read_time_span(const EventLog& log, const TimeSpan& otherwise,
                                 const std::optional<std::string>& from,
                                 const std::optional<std::string>& to, std::int64_t now_ns) {
  TimeSpan span = otherwise;
  if (from) {
    const auto time = TRY(time_of_moment(log, "from", *from, now_ns));
    span.from_ns = time;
  }
  if (to) {
    const auto time = TRY(time_of_moment(log, "to", *to, now_ns));
    span.until_ns = time + 1;
  }
  if (span.from_ns < earliest_ns || span.until_ns > latest_ns ||
      span.until_ns - span.from_ns > span_ns_max) {
    return reject(ErrorCode::INVALID_PARAMS, "from and to are at most 100 years apart",
                  {{"field", std::string("from")}});
  }
  if (span.from_ns < span.until_ns) return span;
  return reject(ErrorCode::INVALID_PARAMS, "to must not be before from",
                {{"field", std::string("to")}});
}

}  // namespace signalbox
