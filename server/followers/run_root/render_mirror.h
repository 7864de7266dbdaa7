// Renders the mirror of locks and ticks in a run root: the lock file, the marker of a tick under
// way, the rows of the tick ledger, and the file that describes a halted loop. Pure functions.
#pragma once

#include <string>

#include <boost/json/object.hpp>

#include "domain/event.h"
#include "projections/tick_ledger.h"
#include "server/followers/run_root/run_root_state.h"

namespace signalbox {

// Returns the content of `.lock`, schema `lock.v1`.
std::string lock_file_text(const MirroredLock& lock);

// Returns the content of the tick's marker, schema `tick_in_progress.v1`.
std::string tick_marker_text(const MirroredTick& tick);

// Returns the ledger row of a tick's event, schema `tick_ledger.v1`, with its line break. `tick` is
// the state of the event's tick, or nullptr if it is unknown.
std::string tick_ledger_row(const Record& record, const MirroredTick* tick);

// Returns the path of a halt's file, such as "operator/halt/tick-0012.json". The number is the
// tick's token or, if the log has none (0), the position of the halt.
std::string halt_path(Token token, Position halted_at);

// Returns the halt file's content, schema `halt.v1`, for the person who has to recover the loop.
// `record` holds `event`; `tick` is the unfinished tick, as far as it is known.
std::string halt_text(const Record& record, const TickIncompleteDetected& event,
                      const MirroredTick& tick);

// Returns a row of the tick ledger as JSON, as `tick.list` answers and as a line of
// `logs/ticks.jsonl` has it. `run_root` is the row's own or that of its run; it may be empty.
boost::json::object tick_row_to_json(const TickRow& row, const std::string& run_root);

}  // namespace signalbox
