// Base64 (RFC 4648, section 4, with padding). OpenSSL does the coding; strict validation is added
// here.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace signalbox {

// Appends the base64 text of `bytes` to `out`.
void append_base64(std::string& out, std::string_view bytes);
std::string to_base64(std::string_view bytes);

// Appends the bytes that `text` encodes to `out`. Returns false, with `out` in an unspecified
// state, unless `text` is their one canonical encoding: no blanks, no missing padding, no nonzero
// unused bits.
bool decode_base64(std::string_view text, std::string& out);
std::optional<std::string> from_base64(std::string_view text);

}  // namespace signalbox
