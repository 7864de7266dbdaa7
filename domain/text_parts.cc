#include "domain/text_parts.h"

#include <cstdint>

namespace signalbox {

std::string_view trimmed(std::string_view text, std::string_view around) {
  const std::size_t first = text.find_first_not_of(around);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(around) - first + 1);
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& each : lower) {
    if (each >= 'A' && each <= 'Z') each = static_cast<char>(each - 'A' + 'a');
  }
  return lower;
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
