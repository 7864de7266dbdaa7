// Recovers the world from the data directory: loads the newest good snapshot and folds the tail of
// the log onto it. Every start uses this path, after a crash or not.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "domain/world.h"
#include "projections/run_index.h"
#include "projections/world_snapshot.h"
#include "store/rocks_event_log.h"

namespace signalbox {

// Returns the directory of the world's snapshots in the data directory `data`.
std::filesystem::path snapshots_directory(const std::filesystem::path& data);

// An open log and the world at its tail.
struct Recovered {
  std::unique_ptr<RocksEventLog> log;
  World world;
  Position snapshot_position = 0;  // 0: folded from the first event
  std::uint64_t torn_bytes = 0;    // that a crash left after the log's last record; truncated
  std::vector<std::string> notes;  // sentences about skipped snapshots and truncated bytes
};

// Called periodically while the log is folded, with the position reached and the tail.
using FoldProgress = std::function<void(Position done, Position of)>;

// Opens and verifies the log of a data directory and folds it. A snapshot that can't be used is
// skipped and noted; the log is never judged by a snapshot. `command` names this process to
// another one that finds the directory in use. Blocks, also for up to data_lock_wait_ms_max while
// another process has the directory. Returns StoreError::Kind::damaged,
// in_use, io and others of the log.
Stored<Recovered> recover(const std::filesystem::path& data, const FoldProgress& progress = {},
                          const std::string& command = "signalbox serve");

// Returns the world that a fold begins with: the snapshot's, if it isn't older than the log's
// horizon; else the world before the log's first record.
Stored<World> begin_fold(const EventLog& log, std::optional<WorldSnapshot> snapshot);

// Folds an open log up to its tail, from the newest snapshot. Blocks.
Stored<World> fold_log(const EventLog& log, const std::filesystem::path& data);

}  // namespace signalbox
