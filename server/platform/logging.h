// The server's own log: lines for people, one JSON object a line, or entries of the systemd
// journal.
//
// A line may be about a run, a station, an attempt and a position of the log. Each format shows
// them in its own way: `run=… station=… span=… position=…`, keys, or the journal's fields
// SIGNALBOX_RUN, SIGNALBOX_STATION, SIGNALBOX_SPAN, SIGNALBOX_POSITION.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <spdlog/logger.h>

#include "domain/ids.h"

namespace signalbox {

// What a line is about; what it isn't about is nil, empty or 0.
struct LogSubject {
  RunId run_id{};
  std::string_view station;
  Uuid span_id{};
  Position position = 0;
};

// `level` is debug, info, warn or error; `format` is text, json, journal or auto: journal where
// stderr is connected to it (JOURNAL_STREAM), else text.
std::shared_ptr<spdlog::logger> make_logger(const std::string& level, const std::string& format);

// Any thread.
void log_about(spdlog::logger& logger, spdlog::level::level_enum level, const LogSubject& subject,
               std::string_view text);

}  // namespace signalbox
