#include "tools/cli/call_error.h"

#include <algorithm>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "server/rpc/error_json.h"
#include "server/text/printable_text.h"
#include "store/directory_lock.h"

namespace signalbox {
namespace {

namespace json = boost::json;

// The client's error numbers; the server's numbers end before -32090.
constexpr int usage_number = -32090;
constexpr int unreachable_number = -32091;
constexpr int io_number = -32092;
constexpr int in_use_number = -32093;
constexpr int timed_out_number = -32094;
constexpr int in_flight_number = -32095;
constexpr int certificate_number = -32096;
constexpr int unsupported_number = -32097;

ExitCode exit_code_of(std::string_view code) {
  if (code == "PARSE_ERROR" || code == "INVALID_REQUEST" || code == "METHOD_NOT_FOUND" ||
      code == "INVALID_PARAMS" || code == "PIPELINE_INVALID") {
    return ExitCode::usage;
  }
  if (code == "UNKNOWN_OUTCOME" || code == "STORAGE_FULL" || code == "GIT_FAILED") {
    return ExitCode::io;
  }
  if (code == "OVERLOADED" || code == "SHUTTING_DOWN" || code == "STORAGE_AWAY" ||
      code == "NOT_ACTIVE") {
    return ExitCode::try_again;
  }
  if (code == "READ_MODELS_REBUILDING" || code == "TICK_IN_PROGRESS") return ExitCode::try_again;
  if (code == "NOT_ALLOWED" || code == "FORBIDDEN" || code == "UNAUTHENTICATED") {
    return ExitCode::not_allowed;
  }
  if (code == "STORAGE_DAMAGED") return ExitCode::damaged;
  return ExitCode::refused;
}

std::string_view code_in(const json::object& error) {
  const json::value* data = error.if_contains("data");
  if (data == nullptr || !data->is_object()) return {};
  const json::value* code = data->as_object().if_contains("code");
  return code != nullptr && code->is_string() ? std::string_view(code->get_string()) : "";
}

CallError local_error(int number, const char* name, std::string message,
                      std::vector<std::string> next_commands, ExitCode exit_code) {
  json::object data;
  data["code"] = name;
  data["details"] = json::object();
  data["next_commands"] = json::array(next_commands.begin(), next_commands.end());
  json::object error;
  error["code"] = number;
  error["message"] = std::move(message);
  error["data"] = std::move(data);
  return {std::move(error), exit_code};
}

// Suggests to stop a server that holds the directory, since it runs until it is stopped; any other
// command ends by itself and is waited for.
CallError in_use(const StoreError& error, json::object& details) {
  const DirectoryHolder holder = read_directory_holder(error.file);
  std::vector<std::string> next_commands;
  if (!holder.command.empty()) details["command"] = holder.command;
  if (!holder.process_id.empty()) {
    details["process_id"] = holder.process_id;
    const bool ends = !holder.command.empty() && holder.command != "signalbox serve";
    next_commands.push_back(ends ? "tail --pid=" + holder.process_id + " -f /dev/null"
                                 : "kill " + holder.process_id);
  }
  return local_error(in_use_number, "IN_USE", error.message, std::move(next_commands),
                     ExitCode::try_again);
}

}  // namespace

CallError refused_by_server(json::object error) {
  const ExitCode exit_code = exit_code_of(code_in(error));
  return {std::move(error), exit_code};
}

CallError usage_error(std::string message, std::vector<std::string> next_commands) {
  return local_error(usage_number, "USAGE", std::move(message), std::move(next_commands),
                     ExitCode::usage);
}

CallError unreachable(std::string message, std::vector<std::string> next_commands) {
  return local_error(unreachable_number, "NOT_REACHABLE", std::move(message),
                     std::move(next_commands), ExitCode::unreachable);
}

CallError timed_out(std::string message, std::vector<std::string> next_commands) {
  return local_error(timed_out_number, "TIMED_OUT", std::move(message), std::move(next_commands),
                     ExitCode::unreachable);
}

CallError still_in_flight(std::string message) {
  return local_error(in_flight_number, "STILL_IN_FLIGHT", std::move(message),
                     {"signalbox drain --wait", "signalbox status"}, ExitCode::try_again);
}

CallError certificate_refused(const char* reason, std::string message,
                              const std::vector<std::string>& names,
                              std::vector<std::string> next_commands) {
  CallError error = local_error(certificate_number, "CERTIFICATE_REFUSED", std::move(message),
                                std::move(next_commands), ExitCode::not_allowed);
  error.error["data"].as_object()["details"] = {
      {"reason", reason}, {"certificate_names", json::array(names.begin(), names.end())}};
  return error;
}

CallError none_answered(std::vector<CallError> failures) {
  if (failures.size() == 1) return std::move(failures.front());
  std::string message =
      "the server answers at none of its " + std::to_string(failures.size()) + " addresses:";
  std::vector<std::string> commands;
  bool is_one_code = true;
  for (const CallError& each : failures) {
    message += "\n  " + message_of(each);
    is_one_code = is_one_code && code_in(each.error) == code_in(failures.front().error);
    for (std::string& next : next_commands_of(each)) {
      if (std::find(commands.begin(), commands.end(), next) == commands.end()) {
        commands.push_back(std::move(next));
      }
    }
  }
  if (!is_one_code) return unreachable(std::move(message), std::move(commands));
  CallError error = std::move(failures.front());
  error.error["message"] = std::move(message);
  error.error["data"].as_object()["next_commands"] = json::array(commands.begin(), commands.end());
  return error;
}

CallError io_error(std::string message, std::vector<std::string> next_commands) {
  return local_error(io_number, "IO_FAILED", std::move(message), std::move(next_commands),
                     ExitCode::io);
}

CallError from_rejection(const Rejection& rejection) {
  return refused_by_server(rejection_to_json(rejection));
}

CallError from_store_error(const StoreError& error) {
  json::object details;
  if (!error.file.empty()) details["file"] = error.file;
  if (error.position != 0) details["position"] = error.position;
  CallError called;
  switch (error.kind) {
    case StoreError::Kind::unsupported:
      called = local_error(unsupported_number, "UNSUPPORTED", error.message, {}, ExitCode::damaged);
      break;
    case StoreError::Kind::damaged:
      called = from_rejection({ErrorCode::STORAGE_DAMAGED, error.message, {}, {}});
      break;
    case StoreError::Kind::in_use:
      called = in_use(error, details);
      break;
    case StoreError::Kind::not_found:
      called = usage_error(error.message);
      break;
    case StoreError::Kind::dropped:
      called = from_rejection({ErrorCode::HISTORY_DROPPED,
                               error.message,
                               {},
                               {"signalbox events --type HistoryDropped"}});
      break;
    case StoreError::Kind::rebuilding:
      called = from_rejection({ErrorCode::READ_MODELS_REBUILDING, error.message, {}, {}});
      break;
    case StoreError::Kind::away:
    case StoreError::Kind::denied:
      called = from_rejection({ErrorCode::STORAGE_AWAY, error.message, {}, {"signalbox status"}});
      break;
    case StoreError::Kind::full:
    case StoreError::Kind::io:
      called = io_error(error.message);
      break;
  }
  called.error["data"].as_object()["details"] = std::move(details);
  return called;
}

std::string code_of(const CallError& error) { return std::string(code_in(error.error)); }

std::string message_of(const CallError& error) {
  const json::value* message = error.error.if_contains("message");
  return message != nullptr && message->is_string() ? std::string(message->get_string())
                                                    : json::serialize(error.error);
}

std::vector<std::string> next_commands_of(const CallError& error) {
  std::vector<std::string> commands;
  const json::value* data = error.error.if_contains("data");
  if (data == nullptr || !data->is_object()) return commands;
  const json::value* next = data->as_object().if_contains("next_commands");
  if (next == nullptr || !next->is_array()) return commands;
  for (const json::value& each : next->get_array()) {
    if (each.is_string()) commands.emplace_back(each.get_string());
  }
  return commands;
}

std::string for_the_shell(std::string_view word) {
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

namespace {

// Returns the message for people. It may have several lines; a tab in it is from a name or a text
// of others.
std::string shown_message(const std::string& message) {
  std::string shown = printable_lines(message);
  std::replace(shown.begin(), shown.end(), '\t', ' ');
  return shown;
}

}  // namespace

std::string describe(const CallError& error, const ConnectionOptions& typed) {
  std::string text = "signalbox: " + shown_message(message_of(error));
  const std::string_view name = code_in(error.error);
  if (!name.empty()) text += " (" + printable(name) + ")";
  text += '\n';
  for (const std::string& next : next_commands_of(error)) {
    text += "  try: " + printable(with_connection(next, typed)) + '\n';
  }
  return text;
}

}  // namespace signalbox
