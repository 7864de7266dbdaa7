// Records of the log as JSON for clients.
#pragma once

#include <boost/json/object.hpp>

#include "domain/event.h"

namespace signalbox {

// Returns {position, stream, type, type_version, recorded_at, actor, command_id?, cause?, span_id?,
// data}.
boost::json::object record_to_json(const Record& record);
// Returns the same without `data`.
boost::json::object record_header_to_json(const Record& record);

}  // namespace signalbox
