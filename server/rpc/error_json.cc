#include "server/rpc/error_json.h"

#include <boost/describe/enum_from_string.hpp>
#include <boost/describe/enum_to_string.hpp>
#include <boost/json/array.hpp>

#include "server/text/described_json.h"
#include "server/text/json_text.h"

namespace signalbox {

namespace json = boost::json;

const char* name_of(ErrorCode code) { return boost::describe::enum_to_string(code, "INTERNAL"); }

Detail position_detail(std::string key, Position position) {
  constexpr Position exact_max = Position{1} << 53;
  if (position > exact_max) return {std::move(key), std::to_string(position)};
  return {std::move(key), static_cast<std::int64_t>(position)};
}

namespace {

// The domain has nanoseconds; clients get times.
void add_number(json::object& details, const std::string& key, std::int64_t value) {
  if (key.ends_with("_ns")) {
    details[key.substr(0, key.size() - 3)] = time_or_null(value);
  } else if (key.ends_with("_age_ms") && value < 0) {
    details[key] = nullptr;  // unknown
  } else {
    details[key] = value;
  }
}

// Adds a marker as the JSON object that it holds, or as text if it can't be parsed as one.
void add_text(json::object& details, const std::string& key, const std::string& value) {
  if (key != "marker" && key != "marker_path") {
    details[key] = value;
    return;
  }
  if (value.empty()) {
    details[key] = nullptr;
    return;
  }
  details[key] = value;
  if (key == "marker_path") return;
  if (auto parsed = parse_json(value); parsed && parsed->is_object()) details[key] = *parsed;
}

Detail printed_detail(std::string_view key, const json::value& value) {
  Detail detail{std::string(key), {}};
  if (const auto* text = value.if_string()) {
    detail.value = std::string(*text);
  } else if (const auto* number = value.if_int64()) {
    detail.value = *number;
  } else if (const auto* large = value.if_uint64()) {
    detail.value = static_cast<std::int64_t>(*large);
  } else if (const auto* flag = value.if_bool()) {
    detail.value = *flag;
  } else if (const auto* array = value.if_array()) {
    std::vector<std::string> words;
    for (const json::value& each : *array) {
      if (each.is_string()) words.emplace_back(each.get_string());
    }
    detail.value = std::move(words);
  }
  return detail;
}

// Returns a part of an object that is there and an object; else an empty one.
const json::object& printed_part(const json::object& object, const char* key) {
  static const json::object none;
  const json::value* const found = object.if_contains(key);
  return found != nullptr && found->is_object() ? found->get_object() : none;
}

std::string printed_text(const json::object& object, const char* key) {
  const json::value* const found = object.if_contains(key);
  return found != nullptr && found->is_string() ? std::string(found->get_string()) : std::string();
}

}  // namespace

json::object rejection_data(const Rejection& rejection) {
  json::object details;
  for (const Detail& detail : rejection.details) {
    std::visit(
        [&](const auto& value) {
          using Value = std::remove_cvref_t<decltype(value)>;
          if constexpr (std::is_same_v<Value, std::int64_t>) {
            add_number(details, detail.key, value);
          } else if constexpr (std::is_same_v<Value, std::string>) {
            add_text(details, detail.key, value);
          } else if constexpr (std::is_same_v<Value, std::vector<std::string>>) {
            details[detail.key] = json::array(value.begin(), value.end());
          } else {
            details[detail.key] = value;
          }
        },
        detail.value);
  }
  json::object data;
  data["code"] = name_of(rejection.code);
  data["details"] = std::move(details);
  data["next_commands"] =
      json::array(rejection.next_commands.begin(), rejection.next_commands.end());
  return data;
}

json::object rejection_to_json(const Rejection& rejection) {
  json::object error;
  error["code"] = static_cast<std::int32_t>(rejection.code);
  error["message"] = rejection.message;
  error["data"] = rejection_data(rejection);
  return error;
}

Rejection rejection_from_json(const json::object& error, const std::string& field) {
  const json::object& data = printed_part(error, "data");
  Rejection rejection;
  rejection.message = printed_text(error, "message");
  const std::string code = printed_text(data, "code");
  if (!boost::describe::enum_from_string(code.c_str(), rejection.code)) {
    const bool is_usage = code == "USAGE";
    rejection.code = is_usage ? ErrorCode::INVALID_PARAMS : ErrorCode::INTERNAL;
    if (is_usage) rejection.details.push_back({"field", field});
  }
  for (const auto& each : printed_part(data, "details")) {
    rejection.details.push_back(printed_detail(each.key(), each.value()));
  }
  const json::value* const commands = data.if_contains("next_commands");
  if (commands == nullptr || !commands->is_array()) return rejection;
  for (const json::value& each : commands->get_array()) {
    if (each.is_string()) rejection.next_commands.emplace_back(each.get_string());
  }
  return rejection;
}

}  // namespace signalbox
