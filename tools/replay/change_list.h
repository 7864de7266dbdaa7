// What changed between two positions of the log: as a summary that fits a screen, and as the
// difference of the two states.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "server/replay/replay_walk.h"
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

// Returns {from, to, events, changes: [{stream, change: "appears"|"changes"|"is gone", last_event,
// fields: [{field, from?, to?}]}]}, with a change for each stream that has events in between and
// whose state differs. Leaves the walk at `to`.
Called<boost::json::object> world_difference(ReplayWalk& walk, Position from, Position to);

std::string view_world_difference(const boost::json::object& difference, const Terminal& terminal);

// Formats a line for each field: "field  before → after".
std::string view_differences(const std::vector<FieldDifference>& fields, const Terminal& terminal);

}  // namespace signalbox
