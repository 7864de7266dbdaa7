// Calls the server for a command: connects, calls one method, prints the answer.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>

#include "tools/cli/invocation.h"

namespace signalbox {

// Connects to the invocation's server and calls `method`; with --at, see call_past(). Blocks until
// the answer, which is asked for again for some seconds while it says that the usage of a late
// completion couldn't be counted. An id may be short, see short_id.h.
Called<boost::json::object> call_server(const Invocation& invocation, std::string_view method,
                                        boost::json::object params);

// Does the same with the params as they are: ids in them must be whole.
Called<boost::json::object> call_unchanged(const Invocation& invocation, std::string_view method,
                                           boost::json::object params);

// Replaces short ids in the params of several calls by the whole ones, so that all calls are about
// the same; see short_id.h. Calls nobody if there is none.
Called<void> complete_ids(const Invocation& invocation, boost::json::object& params);

// Calls call_server() and prints the result; see answer().
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
