// Parses the target of a request line: the path's segments and the query, percent-decoded.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "domain/error.h"

namespace signalbox {

struct Target {
  std::string authority;              // of the absolute form (`http://host/…`), else empty
  std::vector<std::string> segments;  // "/v1/runs" has two, "/" none, "*" the single segment "*"
  bool ends_with_slash = false;       // after the last segment
  std::vector<std::pair<std::string, std::string>> query;  // names and values in their order
};

// Parses `text` (RFC 3986). Returns INVALID_REQUEST for a broken escape, a NUL, text that isn't
// UTF-8, a path without leading slash, and a segment that is empty, "." or "..".
// Whether a path may end with a slash is up to its route.
Decided<Target> read_target(std::string_view text);

}  // namespace signalbox
