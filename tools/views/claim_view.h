// A claim as the worker who got it sees it.
#pragma once

#include <string>

#include <boost/json/object.hpp>

#include "tools/cli/terminal.h"

namespace signalbox {

// `result` holds a `claim`, or null where nothing was ready.
std::string view_claim(const boost::json::object& result, const Terminal& terminal);

}  // namespace signalbox
