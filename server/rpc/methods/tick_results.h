// The results of `tick.*`: those of its commands, built from their events, and the tick ledger.
#pragma once

#include <span>
#include <string>

#include <boost/json/object.hpp>

#include "projections/tick_ledger.h"
#include "server/rpc/api.h"

namespace signalbox {

boost::json::object begin_tick_result(const Api& api, std::span<const Record> records);
boost::json::object end_tick_result(const Api& api, std::span<const Record> records);
// Returns {"recovered": false} if the records hold no TickRecovered.
boost::json::object recover_tick_result(const Api& api, std::span<const Record> records);

// Returns the directory `named` by a tick or run, or else the default root of the run. Returns an
// empty string if both are missing.
std::string run_root_of(const Api& api, const std::string& named, const RunId& run_id);

// Returns {"open": […], "open_total", "rows": […], "next_cursor"}; `open` is the result of
// open_ticks(). STORAGE_DAMAGED. Called on the projector's thread.
Decided<boost::json::object> tick_list_view(const Api& api, const TickLedger& ledger,
                                            const TickFilter& filter, std::size_t limit,
                                            Position cursor, boost::json::object open);

// Returns {"open": […], "open_total"}: at most `limit` of the loops that aren't idle, the newest
// first. Called on the engine's thread.
boost::json::object open_ticks(const Api& api, const TickFilter& filter, std::size_t limit);

}  // namespace signalbox
