// Formats one event as one line for people.
#pragma once

#include <cstdint>
#include <string>

#include <boost/json/object.hpp>

#include "tools/cli/terminal.h"

namespace signalbox {

// Returns position, time, stream (for a run the end of its id), type and the important fields of
// the data, with a line break.
std::string event_line(const boost::json::object& event, const Terminal& terminal,
                       std::int64_t now_ns);

// Returns the same for one of many events of the same run: a terminal shows more of the fields
// instead of the stream.
std::string run_event_line(const boost::json::object& event, const Terminal& terminal,
                           std::int64_t now_ns);

// Returns the same for a broadcast, with its name as the type.
std::string broadcast_line(const std::string& name, const boost::json::object& params,
                           const Terminal& terminal, std::int64_t now_ns);

}  // namespace signalbox
