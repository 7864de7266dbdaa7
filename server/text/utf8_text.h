// Valid UTF-8 text from arbitrary bytes: invalid bytes become U+FFFD, and truncation never splits a
// character.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "domain/text_parts.h"

namespace signalbox {

// Returns `bytes` with each byte that isn't part of a well-formed sequence replaced by one U+FFFD
// (RFC 3629: no surrogates, no overlong forms).
std::string with_replacements(std::string_view bytes);
bool is_utf8(std::string_view bytes);

// Returns the number of bytes at the end of `bytes` that begin a character without completing it.
std::size_t incomplete_end(std::string_view bytes);

// Returns `text` if it has at most `bytes_max` bytes. Otherwise returns as much of its beginning as
// fits together with a note that gives the original size. `bytes_max` must be at least 64.
std::string shortened(std::string_view text, std::size_t bytes_max);

}  // namespace signalbox
