// The state of a MemoryEventLog, shared by the sources that append, read and drop
// (memory_event_log), and that redact and follow another log (memory_log_replica).
//
// Internal: only those sources include it.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <utility>
#include <vector>

#include "domain/check.h"
#include "store/entry.h"
#include "store/memory_event_log.h"
#include "store/sha256.h"

namespace signalbox {

// Entries are replaced as a whole, never changed: a walk may still read the former one.
using KeptEntry = std::shared_ptr<const std::string>;

inline KeptEntry kept_entry(const Commit& commit, const RandomSource& random, Sha256& sha256,
                            MerkleFrontier& frontier) {
  std::string bytes;
  encode_entry(commit, random, sha256, frontier, bytes);
  return std::make_shared<const std::string>(std::move(bytes));
}

struct MemoryEventLog::State {
  // The contents of the simulated disk: the entries by their first position, and the tree over
  // them.
  struct Kept {
    std::map<Position, KeptEntry> entries;
    MerkleFrontier frontier;
    Horizon horizon;
    std::string base;
    std::vector<Position> due_drops;
    PendingRedactions redactions;

    // Drops what `staged` names, for the HistoryDropped at `dropped_at`.
    void drop(const StagedDrop& staged, Position dropped_at);
  };

  Options options;
  Sha256 sha256;
  mutable std::shared_mutex mutex;  // guards `kept`: scans run concurrently with appends
  Kept kept;
  std::optional<Kept> after_restart;  // what an append of unknown outcome wrote, for restart()
  bool broken = false;  // an append had an unknown outcome: none succeeds until restart()
  std::uint64_t appends = 0;

  // Returns the error of reading the record at `position`, or nothing.
  [[nodiscard]] Stored<void> require(Position position) const;
  // Has `change` change what is kept, or what restart() will show, or nothing, as the test wishes.
  template <class Change>
  AppendResult write(Change&& change);
};

template <class Change>
AppendResult MemoryEventLog::State::write(Change&& change) {
  const Position tail = kept.frontier.leaves;
  if (broken) return {AppendStatus::unknown, tail, "an earlier append failed"};
  std::optional<AppendFault> fault;
  if (options.fault) fault = options.fault(++appends);
  if (!fault) {
    change(kept);
    return {AppendStatus::ok, kept.frontier.leaves, {}};
  }
  if (fault->status == AppendStatus::full) {
    return {AppendStatus::full, tail, "no space left, as the test wishes"};
  }
  SIGNALBOX_CHECK(fault->status == AppendStatus::unknown);
  broken = true;
  if (fault->written) change(after_restart.emplace(kept));
  return {AppendStatus::unknown, tail, "the write failed, as the test wishes"};
}

}  // namespace signalbox
