// Parts of a text: what stands between blanks, and beginnings and ends that don't cut a character.
#pragma once

#include <cstddef>
#include <string_view>

namespace signalbox {

// Returns `text` without the characters of `around` that it begins and ends with.
std::string_view trimmed(std::string_view text, std::string_view around = " \t\r\n");

// Whether a UTF-8 character that began before goes on in `byte`.
bool continues_character(char byte);

// Returns the length of the well-formed UTF-8 character (RFC 3629: no surrogates, no overlong
// forms) at the beginning of `text`, which isn't empty; 0 if there is none.
std::size_t utf8_character_bytes(std::string_view text);

// The longest beginning and end of at most `bytes_max` bytes. `text` is UTF-8.
std::string_view utf8_beginning(std::string_view text, std::size_t bytes_max);
std::string_view utf8_end(std::string_view text, std::size_t bytes_max);

}  // namespace signalbox
