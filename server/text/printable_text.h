// Makes text of others safe for a terminal and for a log that people read in one. A control
// character in it could move the cursor, hide or rename what stands beside it, or type commands.
#pragma once

#include <string>
#include <string_view>

namespace signalbox {

// Returns the text as one line: line breaks and tabs become spaces; other control characters (C0,
// DEL and C1), bidirectional controls and invalid UTF-8 become "?".
std::string printable(std::string_view text);

// Like printable(), but keeps line feeds and tabs.
std::string printable_lines(std::string_view text);

// Returns whether printable_lines() would return the text unchanged.
bool is_printable_lines(std::string_view text);

}  // namespace signalbox
