#include "domain/ids.h"

namespace signalbox {
namespace {

constexpr std::string_view hex_digits = "0123456789abcdef";

int hex_value(char character) {
  if (character >= '0' && character <= '9') return character - '0';
  if (character >= 'a' && character <= 'f') return character - 'a' + 10;
  if (character >= 'A' && character <= 'F') return character - 'A' + 10;
  return -1;
}

constexpr bool dash_before(std::size_t byte_index) {
  return byte_index == 4 || byte_index == 6 || byte_index == 8 || byte_index == 10;
}

}  // namespace

std::string to_string(const Uuid& uuid) {
  std::string text(36, '-');
  std::size_t at = 0;
  for (std::size_t index = 0; index < uuid.bytes.size(); ++index) {
    if (dash_before(index)) ++at;
    text[at++] = hex_digits[uuid.bytes[index] >> 4U];
    text[at++] = hex_digits[uuid.bytes[index] & 0x0FU];
  }
  return text;
}

std::optional<Uuid> parse_uuid(std::string_view text) {
  if (text.size() != 36) return std::nullopt;
  Uuid uuid;
  std::size_t at = 0;
  for (std::size_t index = 0; index < uuid.bytes.size(); ++index) {
    if (dash_before(index) && text[at++] != '-') return std::nullopt;
    const int high = hex_value(text[at]);
    const int low = hex_value(text[at + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    uuid.bytes[index] = static_cast<std::uint8_t>(high * 16 + low);
    at += 2;
  }
  return uuid;
}

std::string to_hex(const Digest& digest) {
  std::string text;
  text.reserve(64);
  for (const std::uint8_t byte : digest.bytes) {
    text.push_back(hex_digits[byte >> 4U]);
    text.push_back(hex_digits[byte & 0x0FU]);
  }
  return text;
}

std::optional<Digest> parse_digest(std::string_view text) {
  if (text.size() != 64) return std::nullopt;
  Digest digest;
  for (std::size_t index = 0; index < digest.bytes.size(); ++index) {
    const int high = hex_value(text[2 * index]);
    const int low = hex_value(text[2 * index + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    digest.bytes[index] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return digest;
}

}  // namespace signalbox
