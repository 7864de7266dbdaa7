// Base64 (RFC 4648, section 4, with padding): OpenSSL codes, the strictness is ours.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace signalbox {

// Appends the text of `bytes` to `out`.
void append_base64(std::string& out, std::string_view bytes);
std::string to_base64(std::string_view bytes);

// Appends what `text` stands for to `out`; false, with `out` in any state, unless it is exactly the
// one text of some bytes: no blanks, no missing padding, no stray bits.
bool decode_base64(std::string_view text, std::string& out);
std::optional<std::string> from_base64(std::string_view text);

}  // namespace signalbox
