// Extracts the top-level list items of a Markdown text, with the headings above them.
//
// It parses only the Markdown syntax that this needs: headings ("## Title", or underlined), lists
// ("-", "*", "+", "1."), task lists ("- [x]"), fenced and indented code, HTML comments. Any heading
// ends the section of the previous one, whatever their levels. Bytes that aren't UTF-8 are kept.
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
  std::string heading;             // nearest above, cut to markdown_heading_bytes_max
  std::optional<std::string> box;  // content of a task's "[ ]", trimmed: "x", "", "-"
  std::string text;                // the first line after bullet and box, trimmed
  bool is_nested = false;          // of `other_lines`: it belongs to an item above it
};

// An error in a text file.
struct LineError {
  std::size_t line = 0;  // from 1; 0: the whole text
  std::string message;   // a sentence: what is wrong and what to write instead; UTF-8
};

// Returns the items in their order. A byte-order mark and a CR at the end of a line are ignored.
// Errors: an unclosed code block or comment, because it hides everything after it; a NUL byte,
// because the text then has another encoding than UTF-8.
// Appends to `other_lines`, if given, the lines that are no such items, headings, code or comments:
// those of paragraphs and of nested lists, each as an item of its own.
tl::expected<std::vector<MarkdownItem>, LineError> markdown_items(
    std::string_view text, std::vector<MarkdownItem>* other_lines = nullptr);

}  // namespace signalbox
