// Parts of a text: trimming, blanks, lower case, what follows a colon, and prefixes and suffixes
// that don't split a UTF-8 character.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace signalbox {

// Returns `text` without the characters of `around` at its beginning and end. Points into `text`.
std::string_view trimmed(std::string_view text, std::string_view around = " \t\r\n");

// Returns whether `text` has nothing but what shows as nothing: it is empty, or made of blanks,
// tabs, line breaks, and Unicode's spaces (with those of no width). `text` is UTF-8.
bool shows_nothing(std::string_view text);

// Returns `text` with the letters A to Z in lower case, whatever the locale is.
std::string lower_case(std::string_view text);

// Returns "text: rest", or the text alone if `rest` is empty.
std::string with_colon(std::string text, const std::string& rest);

// Returns whether `byte` is a UTF-8 continuation byte.
bool is_utf8_continuation(char byte);

// Returns the length of the well-formed UTF-8 character (RFC 3629: no surrogates, no overlong
// forms) at the beginning of `text`, which isn't empty; 0 if there is none.
std::size_t utf8_character_bytes(std::string_view text);

// Return the longest prefix and suffix of at most `bytes_max` bytes that don't split a character.
// `text` is UTF-8, and the result points into it.
std::string_view utf8_prefix(std::string_view text, std::size_t bytes_max);
std::string_view utf8_suffix(std::string_view text, std::size_t bytes_max);

}  // namespace signalbox
