// Calls the server for a command: connects, calls one method, prints the answer.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>

#include "tools/cli/invocation.h"

namespace signalbox {

// Connects to the invocation's server and calls `method`; with --at, answers from the data
// directory instead. Blocks until the answer.
Called<boost::json::object> call_server(const Invocation& invocation, std::string_view method,
                                        boost::json::object params);

// Does the same and prints the result; see answer().
ExitCode call_and_answer(const Invocation& invocation, std::string_view method,
                         boost::json::object params, const View& view);

// Sets params[name] if there is a value.
template <class T>
void set_param(boost::json::object& params, std::string_view name, const std::optional<T>& value) {
  if (value) params[name] = *value;
}

// Adds --command-id, for commands that change something.
void add_command_id(ToolCommand command, std::optional<std::string>& command_id);

}  // namespace signalbox
