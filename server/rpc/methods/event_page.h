// One page of the log, forwards or backwards, for `events.read`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/json/object.hpp>

#include "domain/error.h"
#include "projections/run_index.h"
#include "server/rpc/event_feed.h"
#include "store/event_log.h"

namespace signalbox {

// Where a page begins.
struct EventPageStart {
  std::optional<Position> position;
  std::optional<std::int64_t> time_ns;  // UTC; without both: the beginning or the end of the log
};

// Returns where a page begins that is asked for from a position, a time or an age. INVALID_PARAMS
// for anything else.
Decided<EventPageStart> read_page_start(const std::optional<std::string>& from, bool backwards,
                                        std::int64_t now_ns);

struct EventPage {
  EventPageStart start;
  std::uint32_t limit = 0;
  EventFilter filter;
  bool backwards = false;  // the newest first, from the start on
  // Where the log can have events that the filter wants, ascending; empty: anywhere.
  std::vector<PositionRange> places = {};
};

// Returns where the log can have events of the run: from its start to its end, and after what the
// index knows. Returns nothing, which means anywhere, if it doesn't know the run. The index has no
// heartbeats, so the records between have to be read. Called on the projector's thread.
std::vector<PositionRange> places_of_run(const RunIndex& index, const RunId& run_id);

// Reads a page of the log up to `tail`. Dropped records are skipped, and `history_from` says from
// where on the log is complete. HISTORY_DROPPED; STORAGE_DAMAGED. Blocks; any thread.
Decided<boost::json::object> read_event_page(const EventLog& log, Position tail,
                                             const EventPage& page);

}  // namespace signalbox
