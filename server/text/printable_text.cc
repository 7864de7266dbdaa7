#include "server/text/printable_text.h"

#include <algorithm>
#include <cstddef>

#include "domain/text_parts.h"

namespace signalbox {
namespace {

// Returns whether this character is a directional control (Unicode UAX #9): a mark (U+061C, U+200E,
// U+200F), or an explicit one (U+202A … U+202E, U+2066 … U+2069). It reorders the characters
// beside it, so that a line would look like another.
bool is_directional_control(std::string_view character) {
  if (character == "\xD8\x9C") return true;
  if (!character.starts_with('\xE2') || character.size() != 3) return false;
  const auto second = static_cast<unsigned char>(character[1]);
  const auto third = static_cast<unsigned char>(character[2]);
  return (second == 0x80 && (third == 0x8E || third == 0x8F)) ||
         (second == 0x80 && third >= 0xAA && third <= 0xAE) ||
         (second == 0x81 && third >= 0xA6 && third <= 0xA9);
}

// Returns whether this character is a line separator or a paragraph separator (U+2028, U+2029),
// where a terminal or a pager may begin a line.
bool is_separator(std::string_view character) {
  return character == "\xE2\x80\xA8" || character == "\xE2\x80\xA9";
}

// Returns whether this well-formed character may do something else than be shown.
bool is_control(std::string_view character) {
  const auto byte = static_cast<unsigned char>(character[0]);
  // C1 controls are U+0080 … U+009F: 0xC2 and a second byte below 0xA0.
  const bool is_c1 =
      character.size() == 2 && byte == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0;
  return byte < 0x20 || byte == 0x7F || is_c1 || is_directional_control(character) ||
         is_separator(character);
}

// Returns the number of a well-formed character of at most three bytes.
unsigned code_point_of(std::string_view character) {
  const auto byte = [character](std::size_t index) {
    return static_cast<unsigned>(static_cast<unsigned char>(character[index]));
  };
  if (character.size() == 1) return byte(0);
  if (character.size() == 2) return (byte(0) & 0x1FU) << 6U | (byte(1) & 0x3FU);
  return (byte(0) & 0x0FU) << 12U | (byte(1) & 0x3FU) << 6U | (byte(2) & 0x3FU);
}

bool is_space_control(char c) { return c == '\n' || c == '\t' || c == '\r'; }

std::string shown_text(std::string_view text, bool keeps_lines) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_character_bytes(text);
    const std::string_view character = text.substr(0, std::max<std::size_t>(length, 1));
    if (keeps_lines && (text[0] == '\n' || text[0] == '\t')) {
      out += text[0];
    } else if (is_space_control(text[0]) || (!keeps_lines && is_separator(character))) {
      out += ' ';
    } else if (length == 0 || is_control(character)) {
      out += '?';
    } else {
      out += character;
    }
    text.remove_prefix(character.size());
  }
  return out;
}

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

std::string printable(std::string_view text) { return shown_text(text, /*keeps_lines=*/false); }

std::string printable_lines(std::string_view text) {
  return shown_text(text, /*keeps_lines=*/true);
}

bool is_printable_lines(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_character_bytes(text);
    if (length == 0) return false;
    const bool is_kept = text[0] == '\n' || text[0] == '\t';
    if (!is_kept && is_control(text.substr(0, length))) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string printable_json(std::string_view json) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  out.reserve(json.size());
  while (!json.empty()) {
    const std::size_t length = utf8_character_bytes(json);
    const std::string_view character = json.substr(0, std::max<std::size_t>(length, 1));
    // The writer of JSON has escaped the others; what is left of them is the end of a line.
    const bool is_c0 = static_cast<unsigned char>(json[0]) < 0x20;
    if (is_c0 || (length != 0 && !is_control(character))) {
      out += character;
    } else {
      const unsigned code = length == 0 ? 0xFFFD : code_point_of(character);
      out += "\\u";
      for (const int shift : {12, 8, 4, 0}) out += digits[(code >> shift) & 0xFU];
    }
    json.remove_prefix(character.size());
  }
  return out;
}

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
