// A tick in a run root: its marker while it has no end (schema `tick_in_progress.v1`), and its rows
// in the ledger (schema `tick_ledger.v1`).
#pragma once

#include <string>

#include "domain/event.h"
#include "server/followers/run_root/run_root_state.h"

namespace signalbox {

std::string tick_marker_text(const MirroredTick& tick);

// The row of a tick's event, with its line break. `tick` is what is known of the tick that it is
// about, or nullptr.
std::string tick_ledger_row(const Record& record, const MirroredTick* tick);

}  // namespace signalbox
