#include "domain/text_parts.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace signalbox {
namespace {

// Unicode's White_Space beyond ASCII, and the spaces of no width, which are none to Unicode.
constexpr auto wide_blanks = std::to_array<std::string_view>({
    "\u0085", "\u00A0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003", "\u2004",
    "\u2005", "\u2006", "\u2007", "\u2008", "\u2009", "\u200A", "\u200B", "\u200C",
    "\u200D", "\u2028", "\u2029", "\u202F", "\u205F", "\u2060", "\u3000", "\uFEFF",
});

}  // namespace

std::string_view trimmed(std::string_view text, std::string_view around) {
  const std::size_t first = text.find_first_not_of(around);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(around) - first + 1);
}

bool shows_nothing(std::string_view text) {
  constexpr std::string_view narrow_blanks = " \t\r\n\v\f";
  while (!text.empty()) {
    if (narrow_blanks.find(text.front()) != std::string_view::npos) {
      text.remove_prefix(1);
      continue;
    }
    const auto found = std::ranges::find_if(
        wide_blanks, [text](std::string_view each) { return text.starts_with(each); });
    if (found == wide_blanks.end()) return false;
    text.remove_prefix(found->size());
  }
  return true;
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& each : lower) {
    if (each >= 'A' && each <= 'Z') each = static_cast<char>(each - 'A' + 'a');
  }
  return lower;
}

std::string with_colon(std::string text, const std::string& rest) {
  return rest.empty() ? text : text + ": " + rest;
}

bool is_utf8_continuation(char byte) { return (static_cast<std::uint8_t>(byte) & 0xC0U) == 0x80U; }

std::size_t utf8_character_bytes(std::string_view text) {
  const auto first = static_cast<std::uint8_t>(text.front());
  if (first < 0x80) return 1;
  std::size_t length = 0;
  std::uint8_t second_min = 0x80;
  std::uint8_t second_max = 0xBF;
  if (first >= 0xC2 && first <= 0xDF) {
    length = 2;
  } else if (first >= 0xE0 && first <= 0xEF) {
    length = 3;
    if (first == 0xE0) second_min = 0xA0;
    if (first == 0xED) second_max = 0x9F;
  } else if (first >= 0xF0 && first <= 0xF4) {
    length = 4;
    if (first == 0xF0) second_min = 0x90;
    if (first == 0xF4) second_max = 0x8F;
  }
  if (length == 0 || text.size() < length) return 0;
  const auto second = static_cast<std::uint8_t>(text[1]);
  if (second < second_min || second > second_max) return 0;
  for (std::size_t index = 2; index < length; ++index) {
    if (!is_utf8_continuation(text[index])) return 0;
  }
  return length;
}

std::string_view utf8_prefix(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  std::size_t length = bytes_max;
  while (length > 0 && is_utf8_continuation(text[length])) --length;
  return text.substr(0, length);
}

std::string_view utf8_suffix(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  std::size_t begin = text.size() - bytes_max;
  while (begin < text.size() && is_utf8_continuation(text[begin])) ++begin;
  return text.substr(begin);
}

}  // namespace signalbox
