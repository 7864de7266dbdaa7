// Percent-encoding of parts of a URL (RFC 3986, section 2.1), by Boost.URL.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace signalbox {

// Returns `text` encoded for use as a path segment or a query value: every character that isn't
// unreserved is escaped.
std::string percent_encoded(std::string_view text);

// Returns `text` with its escapes decoded; all other characters are kept as they are. Returns
// nullopt if an escape is malformed. `plus_is_space` decodes '+' as a space, as in queries.
std::optional<std::string> percent_decoded(std::string_view text, bool plus_is_space);

}  // namespace signalbox
