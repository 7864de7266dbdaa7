// Formats runs for people.
#pragma once

#include <cstdint>
#include <string>

#include <boost/json/object.hpp>

#include "tools/cli/terminal.h"

namespace signalbox {

// Formats the result of run.list as a table.
std::string view_run_list(const boost::json::object& result, const Terminal& terminal,
                          std::int64_t now_ns);

// Formats the result of run.get: the run, its stations with their attempts, and its artifacts.
std::string view_run(const boost::json::object& result, const Terminal& terminal,
                     std::int64_t now_ns);

// Formats the result of commands that pause or resume a run: its status, and whether that changed.
std::string view_status_change(const boost::json::object& result, const Terminal& terminal);

}  // namespace signalbox
