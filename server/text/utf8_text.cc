#include "server/text/utf8_text.h"

#include <cstdint>

namespace signalbox {
namespace {

bool is_continuation(char byte) { return (static_cast<std::uint8_t>(byte) & 0xC0U) == 0x80U; }

// The length of the well-formed character at the beginning of `bytes`, or 0.
std::size_t character_length(std::string_view bytes) {
  const auto first = static_cast<std::uint8_t>(bytes.front());
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
  if (length == 0 || bytes.size() < length) return 0;
  const auto second = static_cast<std::uint8_t>(bytes[1]);
  if (second < second_min || second > second_max) return 0;
  for (std::size_t index = 2; index < length; ++index) {
    if (!is_continuation(bytes[index])) return 0;
  }
  return length;
}

}  // namespace

std::string with_replacements(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const std::size_t length = character_length(bytes);
    if (length == 0) {
      text += "\xEF\xBF\xBD";
      bytes.remove_prefix(1);
    } else {
      text += bytes.substr(0, length);
      bytes.remove_prefix(length);
    }
  }
  return text;
}

bool is_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t length = character_length(bytes);
    if (length == 0) return false;
    bytes.remove_prefix(length);
  }
  return true;
}

std::string_view utf8_beginning(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  std::size_t length = bytes_max;
  while (length > 0 && is_continuation(text[length])) --length;
  return text.substr(0, length);
}

std::string_view utf8_end(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  std::size_t begin = text.size() - bytes_max;
  while (begin < text.size() && is_continuation(text[begin])) ++begin;
  return text.substr(begin);
}

std::string shortened(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return std::string(text);
  const std::string note = "\n[cut: " + std::to_string(text.size()) + " bytes in all]";
  return std::string(utf8_beginning(text, bytes_max - note.size())) + note;
}

}  // namespace signalbox
