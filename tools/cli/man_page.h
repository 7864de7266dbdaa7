// Writes the manual page, from the same description of the commands as --help.
#pragma once

#include <string>

#include "tools/cli/command_line.h"

namespace signalbox {

// Returns the page of the program `app` and all its commands for section 1, in man(7)'s macros.
// `version` is "signalbox 1.2.3".
std::string man_page(const ToolCommand& app, const std::string& version);

}  // namespace signalbox
