// What a claim tells its worker of the run: goal, input, run root, and how the attempt before it
// ended.
#pragma once

#include <boost/json/object.hpp>

#include "domain/event.h"
#include "server/rpc/api.h"

namespace signalbox {

// Adds it to the claim that `claimed`, a StationClaimed, granted: the same each time, whatever
// happened since.
void add_assignment(const Api& api, const Record& claimed, boost::json::object& claim);

}  // namespace signalbox
