// Refusals for requests that need records which a retention archived and dropped. They name the
// horizon, the archive, and a command that finds the records there.
#pragma once

#include <optional>

#include "domain/error.h"
#include "store/event_log.h"

namespace signalbox {

// Returns the record of the latest HistoryDropped; nullopt if there is none or it can't be read.
std::optional<Record> latest_drop(const EventLog& log);

// Returns HISTORY_DROPPED for `position`, which is at or before the log's horizon.
Rejection history_dropped(const EventLog& log, Position position);

// Returns HISTORY_DROPPED for a failed run that can't be retried any more, because its records were
// dropped.
Rejection failed_run_dropped(const EventLog& log, const RunId& run_id, Position failed_at);

// Returns RUN_NOT_FOUND. If records were dropped, the run may have been among them, so the refusal
// names the archives.
Rejection run_not_found(const EventLog& log, const RunId& run_id);

}  // namespace signalbox
