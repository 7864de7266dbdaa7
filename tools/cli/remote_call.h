// The way of most commands: connect, ask one thing, show the answer.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>

#include "tools/cli/invocation.h"

namespace signalbox {

Called<boost::json::object> call_server(const Invocation& invocation, std::string_view method,
                                        boost::json::object params);

ExitCode call_and_answer(const Invocation& invocation, std::string_view method,
                         boost::json::object params, const View& view);

// Sets params[name] if there is a value.
template <class T>
void set_param(boost::json::object& params, std::string_view name, const std::optional<T>& value) {
  if (value) params[name] = *value;
}

// --command-id, of commands that change something.
void add_command_id(ToolCommand command, std::optional<std::string>& command_id);

}  // namespace signalbox
