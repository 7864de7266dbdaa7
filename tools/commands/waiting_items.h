// Reads everything that waits for a person, of which `attention.list` answers a page at a time.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "tools/cli/call_error.h"

namespace signalbox {

// Calls `attention.list` with these params.
using AskPage = std::function<Called<boost::json::object>(boost::json::object params)>;

// Returns the items of these kinds, or of all without one, of every page: an answer in the form of
// `attention.list` that has no next one, and is `partial` if a page was. Blocks.
Called<boost::json::object> read_waiting_items(const std::vector<std::string>& kinds,
                                               const AskPage& ask);

}  // namespace signalbox
