// Makes JSON that an agent has written readable, where only the text in it is at fault.
#pragma once

#include <string>
#include <string_view>

namespace signalbox {

// Returns the text as UTF-8 that a JSON parser takes, if its structure is that of JSON: U+FFFD
// replaces invalid bytes, escaped halves of surrogate pairs, and NUL; raw control characters in
// strings become escapes. Agents cut the output of tools where they like, and a result is never
// thrown away for that.
std::string readable_json(std::string_view json);

}  // namespace signalbox
