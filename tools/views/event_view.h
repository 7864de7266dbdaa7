// One event as one line for people.
#pragma once

#include <cstdint>
#include <string>

#include <boost/json/object.hpp>

#include "tools/cli/terminal.h"

namespace signalbox {

// Position, time, stream (a run by the end of its id), type, and what matters of its data; with a
// line break.
std::string event_line(const boost::json::object& event, const Terminal& terminal,
                       std::int64_t now_ns);

// Likewise a broadcast: its name stands for the type.
std::string broadcast_line(const std::string& name, const boost::json::object& params,
                           const Terminal& terminal, std::int64_t now_ns);

}  // namespace signalbox
