// Runs as people see them.
#pragma once

#include <cstdint>
#include <string>

#include <boost/json/object.hpp>

#include "tools/cli/terminal.h"

namespace signalbox {

// `run.list`'s result as a table.
std::string view_run_list(const boost::json::object& result, const Terminal& terminal,
                          std::int64_t now_ns);

// `run.get`'s result: what it is, its stations with their attempts, and its artifacts.
std::string view_run(const boost::json::object& result, const Terminal& terminal,
                     std::int64_t now_ns);

// Of commands that pause a run or let it go on: its status, and whether that is news.
std::string view_status_change(const boost::json::object& result, const Terminal& terminal);

}  // namespace signalbox
