// Ticks as people read them.
#pragma once

#include <cstdint>
#include <string>

#include <boost/json/object.hpp>

#include "tools/cli/terminal.h"

namespace signalbox {

// Of a `tick.list` result: those under way or without an end first, then the ledger.
std::string view_tick_list(const boost::json::object& result, const Terminal& terminal,
                           std::int64_t now_ns);

}  // namespace signalbox
