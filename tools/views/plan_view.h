// Plans as people read them.
#pragma once

#include <string>

#include <boost/json/object.hpp>

#include "tools/cli/terminal.h"

namespace signalbox {

// Of a `plan.get` result: how it stands, then its steps.
std::string view_plan(const boost::json::object& plan, const Terminal& terminal);
// Of a `plan.list` result.
std::string view_plan_list(const boost::json::object& result, const Terminal& terminal);

}  // namespace signalbox
