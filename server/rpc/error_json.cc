#include "server/rpc/error_json.h"

#include <boost/describe/enum_to_string.hpp>
#include <boost/json/array.hpp>

namespace signalbox {

namespace json = boost::json;

const char* name_of(ErrorCode code) { return boost::describe::enum_to_string(code, "INTERNAL"); }

json::object rejection_data(const Rejection& rejection) {
  json::object details;
  for (const Detail& detail : rejection.details) {
    std::visit(
        [&](const auto& value) {
          using Value = std::remove_cvref_t<decltype(value)>;
          if constexpr (std::is_same_v<Value, std::vector<std::string>>) {
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

}  // namespace signalbox
