// The server's diagnostic log, in one of three formats: lines of text, one JSON object per line, or
// entries of the systemd journal.
//
// A line may refer to a run, a station, an attempt and a position of the event log. Text shows them
// as `run=… station=… span=… position=…`, JSON as keys, and the journal as the fields
// SIGNALBOX_RUN, SIGNALBOX_STATION, SIGNALBOX_SPAN and SIGNALBOX_POSITION.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <spdlog/logger.h>

#include "domain/ids.h"

namespace signalbox {

// The subject of a line. A field that doesn't apply is nil, empty or 0.
struct LogSubject {
  RunId run_id{};
  std::string_view station;
  Uuid span_id{};
  Position position = 0;
};

// Creates the logger. `level` is debug, info, warn or error. `format` is text, json, journal or
// auto: journal where stderr is connected to it (JOURNAL_STREAM), else text.
std::shared_ptr<spdlog::logger> make_logger(const std::string& level, const std::string& format);

// Logs one line with its subject. Any thread.
void log_about(spdlog::logger& logger, spdlog::level::level_enum level, const LogSubject& subject,
               std::string_view text);

}  // namespace signalbox
