// The difference between the states at two positions of the log.
#pragma once

#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "server/replay/replay_walk.h"
#include "tools/cli/call_error.h"
#include "tools/cli/terminal.h"

namespace signalbox {

// Returns {from, to, events, changes: [{stream, change: "appears"|"changes"|"is gone", last_event,
// fields: [{field, from?, to?}]}]}, with a change for each stream that has events in between and
// whose state differs. Leaves the walk at `to`.
Called<boost::json::object> world_difference(ReplayWalk& walk, Position from, Position to);

std::string view_world_difference(const boost::json::object& difference, const Terminal& terminal);

// Formats a line for each field: "field  before → after".
std::string view_differences(const std::vector<FieldDifference>& fields, const Terminal& terminal);

}  // namespace signalbox
