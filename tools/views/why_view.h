// The reasons of a `why`, of a run or of a card, as text.
#pragma once

#include <cstdint>
#include <string>

#include <boost/json/object.hpp>

#include "tools/cli/terminal.h"

namespace signalbox {

// Each reason of result["reasons"] after an empty line.
std::string view_reasons(const boost::json::object& result, const Terminal& terminal,
                         std::int64_t now_ns);

}  // namespace signalbox
