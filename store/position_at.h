// From positions of a log to times and back.
#pragma once

#include <cstdint>

#include "domain/ids.h"
#include "store/store_error.h"

namespace signalbox {

class EventLog;

// When the record at `position`, which the log holds, was written; ns since the epoch, UTC.
Stored<std::int64_t> recorded_at(const EventLog& log, Position position);

// The position of the last record that was written at `utc_ns` or before; 0 if there is none. Where
// the clock was set back while the log was written, one of those moments is meant.
Stored<Position> position_at(const EventLog& log, std::int64_t utc_ns);

}  // namespace signalbox
