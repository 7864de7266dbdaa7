// The top-level list items of a Markdown text and the headings that they are under.
//
// Of Markdown it knows what decides which lines those are: headings ("## Title", or underlined),
// lists ("-", "*", "+", "1."), task lists ("- [x]"), fenced and indented code, HTML comments. A
// heading ends what was under the one before, whatever their levels. Bytes that aren't UTF-8 are
// passed on.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

namespace signalbox {

inline constexpr std::size_t markdown_heading_bytes_max = 128;

struct MarkdownItem {
  std::size_t line = 0;            // from 1
  std::string heading;             // the nearest above, at most markdown_heading_bytes_max of it
  std::optional<std::string> box;  // of a task list, what is between '[' and ']': "x", "", "-"
  std::string text;                // of the item's first line, behind bullet and box; trimmed
};

struct LineError {
  std::size_t line = 0;  // from 1; 0: the text as a whole
  std::string message;   // a sentence: what is wrong and what to write instead; UTF-8
};

// In their order. A byte-order mark and CR at the ends of lines are no part of the text. Refused: a
// code block or a comment that isn't closed, since it hides all that follows; a NUL byte, since the
// text then is in another encoding.
tl::expected<std::vector<MarkdownItem>, LineError> markdown_items(std::string_view text);

}  // namespace signalbox
