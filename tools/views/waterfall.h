// A run's trace for people: who was under way from when to when, as bars below each other.
#pragma once

#include <string>

#include <boost/json/object.hpp>

#include "tools/cli/terminal.h"

namespace signalbox {

// `run.trace`'s result. What is under way ends where it was looked at.
std::string view_waterfall(const boost::json::object& result, const Terminal& terminal);

}  // namespace signalbox
