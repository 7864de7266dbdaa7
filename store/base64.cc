#include "store/base64.h"

#include <array>
#include <cstdint>

namespace signalbox {
namespace {

constexpr std::string_view base64_letters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t no_base64_letter = 0xff;

// Twelve bits at once.
constexpr auto base64_pairs = [] {
  std::array<std::array<char, 2>, 4096> pairs{};
  for (std::size_t bits = 0; bits < pairs.size(); ++bits) {
    pairs[bits] = {base64_letters[bits >> 6], base64_letters[bits & 63]};
  }
  return pairs;
}();

constexpr auto base64_values = [] {
  std::array<std::uint8_t, 256> values{};
  for (auto& value : values) value = no_base64_letter;
  for (std::size_t bits = 0; bits < base64_letters.size(); ++bits) {
    values[static_cast<unsigned char>(base64_letters[bits])] = static_cast<std::uint8_t>(bits);
  }
  return values;
}();

std::uint32_t base64_value(char letter) {
  return base64_values[static_cast<unsigned char>(letter)];
}

// The last one or two bytes, from two or three letters whose other bits must be zero.
bool decode_last_letters(std::string_view letters, std::string& out) {
  std::uint32_t bits = 0;
  for (const char letter : letters) {
    const std::uint32_t value = base64_value(letter);
    if (value == no_base64_letter) return false;
    bits = bits << 6 | value;
  }
  if (letters.size() == 2) {
    if ((bits & 0xf) != 0) return false;
    out.push_back(static_cast<char>(bits >> 4));
    return true;
  }
  if ((bits & 0x3) != 0) return false;
  out.push_back(static_cast<char>(bits >> 10));
  out.push_back(static_cast<char>(bits >> 2));
  return true;
}

}  // namespace

void append_base64(std::string& out, std::string_view bytes) {
  const std::size_t begin = out.size();
  out.resize(begin + (bytes.size() + 2) / 3 * 4);
  char* to = out.data() + begin;
  const auto* from = reinterpret_cast<const unsigned char*>(bytes.data());
  std::size_t left = bytes.size();
  for (; left >= 3; left -= 3, from += 3, to += 4) {
    const std::uint32_t bits = static_cast<std::uint32_t>(from[0]) << 16 |
                               static_cast<std::uint32_t>(from[1]) << 8 | from[2];
    const auto& first = base64_pairs[bits >> 12];
    const auto& second = base64_pairs[bits & 0xfff];
    to[0] = first[0];
    to[1] = first[1];
    to[2] = second[0];
    to[3] = second[1];
  }
  if (left == 0) return;
  const std::uint32_t bits = static_cast<std::uint32_t>(from[0]) << 16 |
                             (left == 2 ? static_cast<std::uint32_t>(from[1]) << 8 : 0U);
  to[0] = base64_letters[bits >> 18];
  to[1] = base64_letters[bits >> 12 & 63];
  to[2] = left == 2 ? base64_letters[bits >> 6 & 63] : '=';
  to[3] = '=';
}

std::string to_base64(std::string_view bytes) {
  std::string text;
  append_base64(text, bytes);
  return text;
}

bool decode_base64(std::string_view text, std::string& out) {
  if (text.size() % 4 != 0) return false;
  std::string_view last;
  if (text.ends_with('=')) {
    last = text.substr(text.size() - 4, text.ends_with("==") ? 2 : 3);
    text.remove_suffix(4);
  }
  const std::size_t begin = out.size();
  out.resize(begin + text.size() / 4 * 3);
  char* to = out.data() + begin;
  for (std::size_t at = 0; at < text.size(); at += 4, to += 3) {
    const std::uint32_t a = base64_value(text[at]);
    const std::uint32_t b = base64_value(text[at + 1]);
    const std::uint32_t c = base64_value(text[at + 2]);
    const std::uint32_t d = base64_value(text[at + 3]);
    if ((a | b | c | d) > 63) return false;
    const std::uint32_t bits = a << 18 | b << 12 | c << 6 | d;
    to[0] = static_cast<char>(bits >> 16);
    to[1] = static_cast<char>(bits >> 8);
    to[2] = static_cast<char>(bits);
  }
  return last.empty() || decode_last_letters(last, out);
}

std::optional<std::string> from_base64(std::string_view text) {
  std::string bytes;
  if (!decode_base64(text, bytes)) return std::nullopt;
  return bytes;
}

}  // namespace signalbox
