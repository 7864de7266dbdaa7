// Text of others in Markdown (CommonMark) that somebody else's program shows: as code, so that
// nothing in it is a link, a mention, HTML or a heading.
#pragma once

#include <string>
#include <string_view>

namespace signalbox {

// Returns the text as a code span of one line, which nothing in the text ends. Characters that
// aren't printable are replaced (printable_text.h).
std::string markdown_code(std::string_view text);

// Returns the lines as a block of code, from the beginning of a line to its end. As above.
std::string markdown_code_block(std::string_view lines);

}  // namespace signalbox
