// Locks and ticks in a run root: a held lock, a tick's marker while it has no end, its rows in the
// ledger, and what tells of a loop that halted.
#pragma once

#include <string>

#include <boost/json/object.hpp>

#include "domain/event.h"
#include "projections/tick_row.h"
#include "server/followers/run_root/run_root_state.h"

namespace signalbox {

// `.lock`, schema `lock.v1`.
std::string lock_file_text(const MirroredLock& lock);

// Schema `tick_in_progress.v1`.
std::string tick_marker_text(const MirroredTick& tick);

// The row of a tick's event, schema `tick_ledger.v1`, with its line break. `tick` is what is known
// of the tick that it is about, or nullptr.
std::string tick_ledger_row(const Record& record, const MirroredTick* tick);

// "operator/halt/tick-0012.json": of the tick's token or, where the log knows none, of the position
// of the halt.
std::string halt_path(Token token, Position halted_at);

// For the one who has to look after the loop: schema `halt.v1`. `record` holds `event`; `tick` is
// the tick without an end, as far as it is known.
std::string halt_text(const Record& record, const TickIncompleteDetected& event,
                      const MirroredTick& tick);

// A row of the tick ledger as JSON: what `tick.list` gives and what a line of `logs/ticks.jsonl`
// holds. `run_root` is the row's own, or that of its run; may be empty.
boost::json::object tick_row_to_json(const TickRow& row, const std::string& run_root);

}  // namespace signalbox
