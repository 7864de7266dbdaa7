// Values of options that may lie in a file: `@file` names one, `@-` is stdin.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include <boost/json/value.hpp>

#include "tools/cli/call_error.h"

namespace signalbox {

// What a client sends at most; the server's line limit comes first.
inline constexpr std::size_t source_bytes_max = 4 * 1024 * 1024;

Called<std::string> read_file(const std::filesystem::path& path);

// The text itself, or the content of the file that it names.
Called<std::string> text_from(const std::string& value);

// As JSON; `what` is how the message calls it.
Called<boost::json::value> json_from(const std::string& value, std::string_view what);

}  // namespace signalbox
