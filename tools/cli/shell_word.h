// A word as a shell takes it: for commands that people are told to paste.
#pragma once

#include <string>
#include <string_view>

namespace signalbox {

// In single quotes, whatever is in it.
std::string for_the_shell(std::string_view word);

}  // namespace signalbox
