#include "store/anchor.h"

#include <charconv>
#include <cstdio>
#include <string_view>
#include <system_error>

#include "store/crc32c.h"
#include "store/durable_file.h"

namespace signalbox {
namespace {

constexpr std::string_view first_line = "signalbox anchor 1\n";
constexpr std::size_t anchor_bytes_max = 256;

std::string to_text(const Anchor& anchor) {
  std::string text(first_line);
  text += "position " + std::to_string(anchor.position) + "\n";
  text += "root " + to_hex(anchor.root) + "\n";
  char crc[sizeof "crc32c 01234567\n"];
  std::snprintf(crc, sizeof crc, "crc32c %08x\n", crc32c(text));
  return text + crc;
}

// Returns the value after `key` on the first line of `text`, and removes that line from `text`.
// Returns an empty view, and leaves `text` as it is, if the line doesn't begin with `key`.
std::string_view take_line(std::string_view& text, std::string_view key) {
  const std::size_t end = text.find('\n');
  if (!text.starts_with(key) || end == std::string_view::npos) return {};
  const std::string_view value = text.substr(key.size(), end - key.size());
  text.remove_prefix(end + 1);
  return value;
}

// Parses as much as it can: the caller detects errors by comparing to_text() of the result with the
// text.
Anchor from_text(std::string_view text) {
  Anchor anchor;
  take_line(text, first_line.substr(0, first_line.size() - 1));
  const std::string_view position = take_line(text, "position ");
  std::from_chars(position.data(), position.data() + position.size(), anchor.position);
  if (const auto root = parse_digest(take_line(text, "root "))) anchor.root = *root;
  return anchor;
}

tl::unexpected<StoreError> failure(StoreError::Kind kind, const std::filesystem::path& file,
                                   std::string message) {
  return store_failure(kind, std::move(message), file.string());
}

}  // namespace

Stored<void> write_anchor(const std::filesystem::path& file, const Anchor& anchor) {
  return replace_file(file, to_text(anchor));
}

Stored<std::optional<Anchor>> read_anchor(const std::filesystem::path& file) {
  std::error_code unknown;
  if (std::filesystem::is_fifo(file, unknown)) {  // its writer would be waited for
    return failure(StoreError::Kind::damaged, file, file.string() + " is not a file");
  }
  const auto text = read_file(file, anchor_bytes_max);
  if (!text && text.error().kind == StoreError::Kind::not_found) return std::nullopt;
  if (!text) return tl::unexpected(text.error());
  // An anchor has exactly one encoding, so text that doesn't round-trip was changed.
  const Anchor anchor = from_text(*text);
  if (to_text(anchor) == *text) return anchor;
  return failure(StoreError::Kind::damaged, file, "the anchor " + file.string() + " is damaged");
}

}  // namespace signalbox
