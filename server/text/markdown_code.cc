#include "server/text/markdown_code.h"

#include <algorithm>
#include <cstddef>

#include "server/text/printable_text.h"

namespace signalbox {
namespace {

// Returns backticks that end where the text has none of their number in a row.
std::string fence_round(std::string_view text, std::size_t length_min) {
  std::size_t longest = 0;
  std::size_t present = 0;
  for (const char letter : text) {
    present = letter == '`' ? present + 1 : 0;
    longest = std::max(longest, present);
  }
  return std::string(std::max(longest + 1, length_min), '`');
}

}  // namespace

std::string markdown_code(std::string_view text) {
  std::string line = printable(text);
  if (line.empty()) line = " ";  // two backticks alone would be no code
  const std::string fence = fence_round(line, 1);
  // A reader drops one blank at each end, if both ends have one and there is anything else.
  const auto is_special = [](char letter) { return letter == '`' || letter == ' '; };
  const bool is_blank = line.find_first_not_of(' ') == std::string::npos;
  const bool is_padded = !is_blank && (is_special(line.front()) || is_special(line.back()));
  const std::string pad = is_padded ? " " : "";
  return fence + pad + line + pad + fence;
}

std::string markdown_code_block(std::string_view lines) {
  std::string text = printable_lines(lines);
  if (!text.ends_with('\n')) text += '\n';
  const std::string fence = fence_round(text, 3);
  return fence + "\n" + text + fence + "\n";
}

}  // namespace signalbox
