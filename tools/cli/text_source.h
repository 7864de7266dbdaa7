// Option values that may come from a file: `@file` names one, `@-` is stdin.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include <boost/json/value.hpp>

#include "tools/cli/call_error.h"

namespace signalbox {

// The most that a client reads from a file; the server's limit of a line is lower.
inline constexpr std::size_t source_bytes_max = 4 * 1024 * 1024;

// Reads a whole file, "-" for stdin. A usage error if it can't be read or has more than
// source_bytes_max.
Called<std::string> read_file(const std::filesystem::path& path);

// Returns `value` itself, or for `@file` the content of the file.
Called<std::string> text_from(const std::string& value);

// Parses the text of `value` as JSON; `what` names it in the error message.
Called<boost::json::value> json_from(const std::string& value, std::string_view what);

}  // namespace signalbox
