#include "server/text/readable_json.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "server/text/utf8_text.h"

namespace signalbox {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";  // U+FFFD
constexpr std::size_t unicode_escape_bytes = 6;           // as in \u00e9

// Returns the code unit of the escape \uXXXX at the beginning of `text`.
std::optional<std::uint32_t> escaped_unit(std::string_view text) {
  if (text.size() < unicode_escape_bytes || !text.starts_with("\\u")) return std::nullopt;
  std::uint32_t unit = 0;
  for (const char digit : text.substr(2, 4)) {
    unit *= 16;
    if (digit >= '0' && digit <= '9') {
      unit += static_cast<std::uint32_t>(digit - '0');
    } else if (digit >= 'a' && digit <= 'f') {
      unit += static_cast<std::uint32_t>(digit - 'a' + 10);
    } else if (digit >= 'A' && digit <= 'F') {
      unit += static_cast<std::uint32_t>(digit - 'A' + 10);
    } else {
      return std::nullopt;
    }
  }
  return unit;
}

bool is_high_half(std::uint32_t unit) { return unit >= 0xD800 && unit < 0xDC00; }
bool is_low_half(std::uint32_t unit) { return unit >= 0xDC00 && unit < 0xE000; }

// Adds the escape at the beginning of `text`, or its replacement. Returns its length.
std::size_t add_escape(std::string_view text, std::string& readable) {
  const auto unit = escaped_unit(text);
  if (!unit) {
    readable += text.substr(0, 2);  // a short escape, or one that the parser refuses
    return std::min<std::size_t>(text.size(), 2);
  }
  std::size_t bytes = unicode_escape_bytes;
  if (is_high_half(*unit)) {
    const auto next = escaped_unit(text.substr(bytes));
    if (next && is_low_half(*next)) {
      bytes += unicode_escape_bytes;
      readable += text.substr(0, bytes);
      return bytes;
    }
  }
  if (*unit == 0 || is_high_half(*unit) || is_low_half(*unit)) {
    readable += replacement;
  } else {
    readable += text.substr(0, bytes);
  }
  return bytes;
}

}  // namespace

std::string readable_json(std::string_view json) {
  const std::string text = is_utf8(json) ? std::string(json) : with_replacements(json);
  std::string readable;
  readable.reserve(text.size());
  bool in_string = false;
  for (std::string_view rest = text; !rest.empty();) {
    const char next = rest.front();
    if (in_string && next == '\\') {
      rest.remove_prefix(add_escape(rest, readable));
      continue;
    }
    if (next == '"') in_string = !in_string;
    const bool is_control = static_cast<unsigned char>(next) < 0x20;
    if (!in_string || !is_control) {
      readable += next;
    } else if (next == '\0') {
      readable += replacement;
    } else {
      constexpr std::string_view digits = "0123456789abcdef";
      const auto byte = static_cast<unsigned char>(next);
      readable += "\\u00";
      readable += digits[byte / 16];
      readable += digits[byte % 16];
    }
    rest.remove_prefix(1);
  }
  return readable;
}

}  // namespace signalbox
