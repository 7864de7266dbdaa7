// From what is on disk to a world that can be served: the newest good snapshot, the log's tail
// folded onto it, the read models brought up. Every start goes this way.
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

std::filesystem::path snapshots_directory(const std::filesystem::path& data);

struct Recovered {
  std::unique_ptr<RocksEventLog> log;
  World world;
  Position snapshot_position = 0;  // 0: from the first event
  std::uint64_t torn_bytes = 0;    // that a crash left behind the log's end; they are cut off
  std::vector<std::string> notes;  // snapshots that were passed over, bytes that were cut
};

// Told now and then while the log is folded: how far, of how many events.
using FoldProgress = std::function<void(Position done, Position of)>;

// Opens and verifies the log of a data directory and folds it. A snapshot that can't be used is
// noted and passed over: it is never what the log is judged by. Who finds the directory in
// use meanwhile is told of `command`.
Stored<Recovered> recover(const std::filesystem::path& data, const FoldProgress& progress = {},
                          const std::string& command = "signalbox serve");

// What a fold begins with: the snapshot, where there is one that isn't older than all that the log
// has; else what the log itself begins with.
Stored<World> begin_fold(const EventLog& log, std::optional<WorldSnapshot> snapshot);

// The fold of an open log up to its tail.
Stored<World> fold_log(const EventLog& log, const std::filesystem::path& data);

}  // namespace signalbox
