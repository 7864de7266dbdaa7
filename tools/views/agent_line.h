// A line of a coding agent's output as a person wants to read it: what it says and what it does, of
// the JSON that `claude` and `codex` print. Every other line is as it is.
#pragma once

#include <string>
#include <string_view>

namespace signalbox {

// May have several lines, or none ("") where it tells nothing new. Not safe for a terminal yet.
std::string agent_line(std::string_view line);

}  // namespace signalbox
