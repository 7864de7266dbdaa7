// What changed between two positions of the log, as a summary that fits a screen.
#pragma once

#include <filesystem>
#include <string>

#include <boost/json/object.hpp>

#include "store/event_log.h"
#include "tools/cli/call_error.h"
#include "tools/cli/terminal.h"

namespace signalbox {

// Returns {from, to, events, since, until, summary: [{kind, total, counts: {state: number}, items:
// [{stream, state, name, text, at}]}]}: a group for each kind of stream that something happened to,
// with its first items, what somebody should look at first. Reads the log once. `data` is the data
// directory; its snapshots help to name what was there before `from`.
Called<boost::json::object> list_changes(const EventLog& log, const std::filesystem::path& data,
                                         Position from, Position to);

// Returns at most 25 lines.
std::string view_changes(const boost::json::object& changes, const Terminal& terminal);

}  // namespace signalbox
