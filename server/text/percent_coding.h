// Percent-coding of parts of a URL (RFC 3986, section 2.1), by Boost.URL.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace signalbox {

// Returns `text` as a segment of a path or a value of a query: all but unreserved characters are
// escaped.
std::string percent_encoded(std::string_view text);

// Returns what `text` stands for, whose other characters may be any; nullopt if an escape is
// broken. `plus_is_space` is for queries.
std::optional<std::string> percent_decoded(std::string_view text, bool plus_is_space);

}  // namespace signalbox
