#include "server/cell/cell_repair.h"

#include <utility>

#include "domain/try.h"
#include "store/head.h"

namespace signalbox {

Stored<CellRepair> repair_cell(RocksEventLog& replica, const CellSettings& settings,
                               ReplicatedEventLog::NoteAway note) {
  const auto shared = open_shared_log(settings);
  const Position tail = replica.tail();
  const ChainLink before = TRY(shared->last());
  if (before.last > tail) {
    return store_failure(StoreError::Kind::not_found,
                         "the cell's log ends at " + std::to_string(before.last) +
                             " and this replica at " + std::to_string(tail) +
                             ": nothing is missing there, and the replica follows when its server "
                             "starts");
  }
  const CellState state = TRY(shared->state());
  CellRepair repair{before.last, tail, state.epoch};
  if (before.last < replica.horizon().position) {
    return store_failure(
        StoreError::Kind::damaged,
        "the cell's log ends at " + std::to_string(before.last) +
            ", and this replica has dropped the records up to " +
            std::to_string(replica.horizon().position) +
            ", which archives have: what lies between can't be put back from it. Run it at a "
            "server that has dropped less, or restore a newer backup of the database. If there is "
            "neither, go on with a new cell, which begins with this server's log: have an empty "
            "database, or another name for the cell (cell.name), remove the files `cell` and "
            "`cell_seen` from this data directory, start this server, and then the others, each "
            "with a seed of it (`signalbox cell seed`) in place of its `log`, `anchor` and "
            "`projections`");
  }
  const MerkleFrontier tree = TRY(replica.verify(before.last));
  std::string head;
  encode_head(tree, head);
  if (head != before.head) {
    return store_failure(StoreError::Kind::damaged,
                         "this replica and the cell's log differ at " +
                             std::to_string(before.last) +
                             ": something else was written after what they have in common, so "
                             "nothing can be put back");
  }
  if (before.last == tail) return repair;
  repair.epoch = TRY(shared->take(state.epoch, settings.server));
  // Whoever wrote in between has written after what was lost.
  const ChainLink last = TRY(shared->last());
  if (last != before) {
    return store_failure(StoreError::Kind::in_use,
                         "a server wrote to the cell's log meanwhile: stop them all");
  }
  ReplicatedEventLog log(replica, open_shared_log(settings), std::move(note));
  TRY(log.put_back(repair.epoch, last, tree));
  Beat beat = log.next_beat(repair.epoch, tail);
  beat.is_released = true;
  // Without it a server takes the cell only once there was no beat for a while.
  const auto released = shared->beat(beat);
  if (!released && !is_outage(released.error())) return tl::unexpected(released.error());
  return repair;
}

StoreError with_repair(StoreError error, Position prev) {
  if (error.kind != StoreError::Kind::damaged) return error;
  const std::string after = std::to_string(prev);
  error.message =
      "what the cell's log in the database has after " + after +
      " isn't what its writer wrote, or this server's replica isn't one of this cell's log: " +
      error.message +
      ". To go on without that, run `signalbox cell seed DIR` at a server of the cell whose log "
      "reaches further, put what is in DIR into this server's data directory, in place of its "
      "`log`, `anchor` and `projections`, and start this server. To put the database right, stop "
      "all servers, delete this cell's rows of sb_entry whose prev is " +
      after + " or more, and run `signalbox cell repair` at the server whose log reaches furthest";
  return error;
}

}  // namespace signalbox
