#include "server/rpc/methods/query_params.h"

#include <algorithm>
#include <utility>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "server/engine/moment.h"

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

}  // namespace signalbox
