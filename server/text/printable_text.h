// Makes text of others safe for a terminal and for a log that people read in one. A control
// character in it could move the cursor, hide or rename what stands beside it, or type commands.
// Likewise for Markdown, in which it could be markup.
#pragma once

#include <string>
#include <string_view>

namespace signalbox {

// Returns the text as one line: line breaks (also U+2028 and U+2029) and tabs become spaces; other
// control characters (C0, DEL and C1), bidirectional controls and invalid UTF-8 become "?".
std::string printable(std::string_view text);

// Like printable(), but keeps line feeds and tabs; U+2028 and U+2029 become "?", too.
std::string printable_lines(std::string_view text);

// Returns whether printable_lines() would return the text unchanged.
bool is_printable_lines(std::string_view text);

// Returns the JSON with each character that printable_lines() would replace as an escape: the same
// value, which a terminal only shows. Bytes that aren't UTF-8 become U+FFFD.
std::string printable_json(std::string_view json);

// Returns the text as a code span of Markdown (CommonMark), of one line, which nothing in the text
// ends: somebody else's program shows it, and nothing in it shall be a link, a mention, HTML or a
// heading. Replaces what printable() replaces.
std::string markdown_code(std::string_view text);

// Returns the lines as a block of code, from the beginning of a line to its end, in the same
// way.
std::string markdown_code_block(std::string_view lines);

}  // namespace signalbox
