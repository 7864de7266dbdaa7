// Formats the reasons in a result of run.why or card.why.
#pragma once

#include <cstdint>
#include <string>

#include <boost/json/object.hpp>

#include "tools/cli/terminal.h"

namespace signalbox {

// Formats each of result["reasons"], with an empty line before it.
std::string view_reasons(const boost::json::object& result, const Terminal& terminal,
                         std::int64_t now_ns);

}  // namespace signalbox
