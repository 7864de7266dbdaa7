// The answer to whoever asks for what was archived and dropped: up to where, where it is, and what
// works there.
#pragma once

#include <optional>

#include "domain/error.h"
#include "store/event_log.h"

namespace signalbox {

// The record of the latest drop, a HistoryDropped; nothing where there was none, or where it can't
// be read.
std::optional<Record> latest_drop(const EventLog& log);

// HISTORY_DROPPED. `position` is at or before the log's horizon.
Rejection history_dropped(const EventLog& log, Position position);

// RUN_NOT_FOUND. Where records were dropped it may have been one of those: with where to look.
Rejection no_such_run(const EventLog& log, const RunId& run_id);

}  // namespace signalbox
