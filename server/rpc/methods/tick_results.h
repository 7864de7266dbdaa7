// What `tick.*` answers: the results of its commands, made from their events, and the ledger.
#pragma once

#include <span>
#include <string>

#include <boost/json/object.hpp>

#include "projections/tick_ledger.h"
#include "server/rpc/api.h"

namespace signalbox {

boost::json::object begin_tick_result(const Api& api, std::span<const Record> records);
boost::json::object end_tick_result(const Api& api, std::span<const Record> records);
// {"recovered": false} where the records hold no TickRecovered.
boost::json::object recover_tick_result(const Api& api, std::span<const Record> records);

// The directory that a tick or run named, or that its run has by default; empty without either.
std::string run_root_of(const Api& api, const std::string& named, const RunId& run_id);

// {"open": […], "open_total", "rows": […], "next_cursor"}; `open` is given.
Decided<boost::json::object> tick_list_view(const Api& api, const TickLedger& ledger,
                                            const TickFilter& filter, std::size_t limit,
                                            Position cursor, boost::json::object open);

// {"open": […], "open_total"}: the loops that aren't idle, the newest first, at most `limit`.
boost::json::object open_ticks(const Api& api, const TickFilter& filter, std::size_t limit);

}  // namespace signalbox
