// The part of a claim that describes the run to its worker: goal, input, run root, and how the
// previous attempt ended. It is separate because a repeated claim has to rebuild it from the log.
#pragma once

#include <string>

#include "domain/event.h"
#include "server/rpc/api.h"

namespace signalbox {

// Appends these fields to `claim`, the JSON text of the claim that the StationClaimed record
// `claimed` granted, without the end of its object. The result is the same at any later time,
// whatever has happened to the run. Called on the engine's thread; what has to be read from the log
// is read by api.past.
void append_assignment(const Api& api, const Record& claimed, std::string& claim);

}  // namespace signalbox
