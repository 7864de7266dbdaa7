// Reads everything that waits for a person, of which `attention.list` answers a page at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "server/rpc/page_limit.h"
#include "tools/cli/call_error.h"

namespace signalbox {

// Calls `attention.list` with these params.
using AskPage = std::function<Called<boost::json::object>(boost::json::object params)>;

// Returns the items of these kinds, or of all without one, of every page: an answer in the form of
// `attention.list` that has no next one, and is `partial` if a page was. Blocks.
Called<boost::json::object> read_waiting_items(const std::vector<std::string>& kinds,
                                               const AskPage& ask,
                                               std::uint32_t page_items = attention_list_rows_max);

// Returns sentences about the work that an approval is about: that it changes what checks it, and
// what was left out.
std::vector<std::string> findings_of(const boost::json::object& item);

}  // namespace signalbox
