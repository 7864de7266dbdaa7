// Draws a run's trace for people: a waterfall diagram, one bar a span.
#pragma once

#include <string>

#include <boost/json/object.hpp>

#include "tools/cli/terminal.h"

namespace signalbox {

// Formats the result of run.trace. The bar of an open span ends at the result's `as_of`.
std::string view_waterfall(const boost::json::object& result, const Terminal& terminal);

}  // namespace signalbox
