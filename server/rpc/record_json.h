// A record of the log as clients see it.
#pragma once

#include <boost/json/object.hpp>

#include "domain/event.h"

namespace signalbox {

// {position, stream, type, type_version, recorded_at, actor, command_id?, cause?, span_id?, data}.
boost::json::object record_to_json(const Record& record);

}  // namespace signalbox
