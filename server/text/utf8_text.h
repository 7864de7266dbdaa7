// Text of unknown bytes: what isn't UTF-8 becomes U+FFFD, and cuts never fall inside a character.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "domain/text_parts.h"

namespace signalbox {

// Each byte that isn't part of a well-formed sequence (RFC 3629: no surrogates, no overlong forms)
// becomes one U+FFFD.
std::string with_replacements(std::string_view bytes);
bool is_utf8(std::string_view bytes);

// `text` itself, or as much of its beginning as fits into `bytes_max` with a note that gives the
// original size. `bytes_max` is at least 64.
std::string shortened(std::string_view text, std::size_t bytes_max);

}  // namespace signalbox
