// What is different between two positions of the log, over all that happened between them.
#pragma once

#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "server/replay/replay_walk.h"
#include "tools/cli/call_error.h"
#include "tools/cli/terminal.h"

namespace signalbox {

// {from, to, events, changes: [{stream, change: "appears"|"changes"|"is gone", last_event,
// fields: [{field, from?, to?}]}]}, a change for each stream with events in between whose state
// isn't the same. It moves the walk.
Called<boost::json::object> world_difference(ReplayWalk& walk, Position from, Position to);

std::string view_world_difference(const boost::json::object& difference, const Terminal& terminal);

// A line for each, "field  before → after".
std::string view_differences(const std::vector<FieldDifference>& fields, const Terminal& terminal);

}  // namespace signalbox
