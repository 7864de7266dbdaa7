// What a request line asks for: the segments of the path and the query, percent-decoded.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "domain/error.h"

namespace signalbox {

struct Target {
  std::string authority;              // of the absolute form (`http://host/…`), else empty
  std::vector<std::string> segments;  // "/v1/runs" has two, "/" none, "*" the one "*"
  std::vector<std::pair<std::string, std::string>> query;  // in order
};

// INVALID_REQUEST for what RFC 3986 and UTF-8 don't allow: a broken escape, a NUL, a path without
// its slash, an empty segment, or one of dots.
Decided<Target> read_target(std::string_view text);

}  // namespace signalbox
