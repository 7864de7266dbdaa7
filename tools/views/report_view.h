// Formats the answer of `report.get` as one screen for people.
#pragma once

#include <string>

#include <boost/json/object.hpp>

#include "tools/cli/terminal.h"

namespace signalbox {

// Returns at most 25 lines, however much happened.
std::string view_report(const boost::json::object& report, const Terminal& terminal);

}  // namespace signalbox
