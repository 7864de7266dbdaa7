// Puts back what a cell's database has lost, from a replica, and says when that is needed.
#pragma once

#include <cstdint>

#include "server/cell/cell_settings.h"
#include "store/replicated_event_log.h"
#include "store/rocks_event_log.h"

namespace signalbox {

struct CellRepair {
  Position from = 0;     // the tail of the cell's log before
  Position through = 0;  // and after; the same if nothing was missing
  std::uint64_t epoch = 0;
};

// Appends what `replica` has after the end of the cell's log, byte for byte, after it has proved
// that the two are one log up to there: by the tree, over every record and file of the replica.
// Takes the cell, so that no server writes meanwhile. Fails with `damaged` if they differ, with
// `not_found` if the replica ends before the cell's log, and otherwise as SharedLog. Blocks, also
// while the database is away, which `note` is told; what was put back until a kill stays, and the
// next repair goes on there.
Stored<CellRepair> repair_cell(RocksEventLog& replica, const CellSettings& settings,
                               ReplicatedEventLog::NoteAway note);

// Adds to an error about what the cell's log has after `prev`, where a replica ends, what is to be
// done about it, if it is `damaged`: nothing of that was kept.
StoreError with_repair(StoreError error, Position prev);

}  // namespace signalbox
