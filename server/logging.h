// The server's own log on stderr: lines for people, or one JSON object a line.
#pragma once

#include <memory>
#include <string>

#include <spdlog/logger.h>

namespace signalbox {

// `level` is debug, info, warn or error; `format` is text or json.
std::shared_ptr<spdlog::logger> make_logger(const std::string& level, const std::string& format);

}  // namespace signalbox
