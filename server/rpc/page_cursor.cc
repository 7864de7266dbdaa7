#include "server/rpc/page_cursor.h"

namespace signalbox {
namespace {

constexpr std::string_view cursor_digits = "0123456789abcdef";

}  // namespace

std::string cursor_text(std::string_view key) {
  std::string text;
  for (const char byte : key) {
    const auto value = static_cast<unsigned char>(byte);
    text.push_back(cursor_digits[value >> 4U]);
    text.push_back(cursor_digits[value & 0xFU]);
  }
  return text;
}

Decided<std::string> read_cursor(const std::optional<std::string>& cursor, const char* list) {
  std::string key;
  if (!cursor) return key;
  for (std::size_t at = 0; at + 1 < cursor->size(); at += 2) {
    const auto high = cursor_digits.find((*cursor)[at]);
    const auto low = cursor_digits.find((*cursor)[at + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) break;
    key.push_back(static_cast<char>(high * 16 + low));
  }
  if (!key.empty() && key.size() * 2 == cursor->size()) return key;
  return reject(ErrorCode::INVALID_PARAMS, "cursor must be next_cursor of the page before",
                {{"field", std::string("cursor")}, {"value", *cursor}}, {list});
}

}  // namespace signalbox
