// An event log that drops records in steps, while others append to it and read it. A retention that
// runs beside the service needs no more of a log than this.
#pragma once

#include <atomic>
#include <cstddef>
#include <vector>

#include "store/event_log.h"
#include "store/leaf_groups.h"

namespace signalbox {

// A drop that is ready to be committed.
struct StagedDrop {
  HistoryDrop drop;
  MerkleFrontier frontier;        // the tree up to the drop's position
  std::vector<LeafGroup> groups;  // of the tree's hashes; to be stored
  Digest base_sha256;
  Position base_key = 0;           // see Horizon
  std::size_t base_parts = 0;      // how many parts of the base are stored
  Position dropped_at_before = 0;  // of the horizon that it was staged on
  Position redacted_at = 0;        // for a drop that is due: PendingRedactions::latest, as planned
};

// Fails with `damaged` unless the event's horizon, root and base are those of the staged drop.
Stored<void> require_drop_of(const HistoryDropped& event, const StagedDrop& staged);

// The steps are stage_drop(), store_base_part() until there are no more, commit_drop(),
// purge_dropped(), note_purged(). One drop at a time; it may be given up before commit_drop().
class DroppableLog : public EventLog {
 public:
  // Reads the records and returns what the drop will store. Blocks for as long as it takes to read
  // them; fails with `io` soon after `canceled` is set. Any thread.
  [[nodiscard]] virtual Stored<StagedDrop> stage_drop(HistoryDrop drop,
                                                      const std::atomic<bool>* canceled) const = 0;
  // Writes the next part of the base and returns whether there are more. On the appending thread.
  // After an error append() is as after a failed append.
  virtual Stored<bool> store_base_part(StagedDrop& staged) = 0;
  // Like EventLog::drop(), but leaves the bytes of what is dropped on the disk; the result is as of
  // append(). On the appending thread.
  virtual Stored<AppendResult> commit_drop(Position expected_tail, const Commit& commit,
                                           const StagedDrop& staged) = 0;
  // Rewrites the files without the dropped records; fails with `io` soon after `canceled` is set,
  // and if an append finds no space meanwhile. Any thread; others may append and read meanwhile.
  [[nodiscard]] virtual Stored<void> purge_dropped(std::atomic<bool>* canceled) const = 0;
  // Notes that purge_dropped() succeeded, and removes bases that nothing refers to. On the
  // appending thread.
  virtual Stored<void> note_purged() = 0;
};

}  // namespace signalbox
