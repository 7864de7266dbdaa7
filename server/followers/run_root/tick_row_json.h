// A row of the tick ledger as JSON, schema tick_ledger.v1: what `tick.list` gives and what a line
// of `logs/ticks.jsonl` holds.
#pragma once

#include <string>

#include <boost/json/object.hpp>

#include "projections/tick_row.h"

namespace signalbox {

// `run_root` is the row's own, or that of its run; may be empty.
boost::json::object tick_row_to_json(const TickRow& row, const std::string& run_root);

}  // namespace signalbox
