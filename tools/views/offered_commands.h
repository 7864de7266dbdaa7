// The commands that a view offers a person.
#pragma once

#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "tools/cli/terminal.h"

namespace signalbox {

// Returns `next_commands` of what is shown, with the options that were typed. On a terminal a
// question is decided by `run approve`, instead of commands that name its position: that shows the
// change first, and is short enough to type. The output of a failed job is named by its run alone,
// which fits the terminal.
std::vector<std::string> offered_commands(const boost::json::object& shown,
                                          const Terminal& terminal);

}  // namespace signalbox
