// The part of a claim that describes the run to its worker: goal, input, run root, and how the
// previous attempt ended. It is separate because a repeated claim has to rebuild it from the log.
#pragma once

#include <boost/json/object.hpp>

#include "domain/event.h"
#include "server/rpc/api.h"

namespace signalbox {

// Adds these fields to `claim`, the JSON of the claim that the StationClaimed record `claimed`
// granted. The result is the same at any later time, whatever has happened to the run. Called on
// the engine's thread; what has to be read from the log is read by api.past.
void add_assignment(const Api& api, const Record& claimed, boost::json::object& claim);

}  // namespace signalbox
