// The pause of the whole service as answers show it.
#pragma once

#include <boost/json/value.hpp>

#include "domain/world.h"

namespace signalbox {

// Returns {position, since, by, reason} of the pause in force, or null.
boost::json::value pause_json(const World& world);

}  // namespace signalbox
