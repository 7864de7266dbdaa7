// Snapshots of the world: files `<position>.snapshot`, which save a starting process the replay of
// the records before them. They are disposable, and are used only if their checksum, their digest
// and the world's invariants hold, and if their writer knew no event that this program doesn't:
// such a log is refused, however far it is folded already.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "domain/world.h"
#include "store/merkle_tree.h"
#include "store/store_error.h"

namespace signalbox {

struct WorldSnapshot {
  World world;
  MerkleFrontier frontier;  // of the log's tree at world.position
  Digest digest;            // of the world
};

struct LoadedSnapshot {
  std::optional<WorldSnapshot> snapshot;  // nullopt: start with an empty world
  std::vector<std::string> problems;      // one sentence for each file that was skipped
};

// Number of snapshots kept: the newest, and one more in case that turns out damaged.
inline constexpr std::size_t snapshots_kept = 2;

// Writes a snapshot atomically and durably, and removes the oldest beyond snapshots_kept. `digest`
// must be the world's. Creates the directory if necessary. Fails with `full` or `io`.
Stored<void> write_snapshot(const std::filesystem::path& directory, const World& world,
                            const MerkleFrontier& frontier, const Digest& digest);

// Loads the newest valid snapshot at or before `position_max`, the log's tail.
LoadedSnapshot load_newest_snapshot(const std::filesystem::path& directory, Position position_max);

// Loads one file. Fails with `damaged`, `unsupported` (another version wrote it), `not_found` or
// `io`.
Stored<WorldSnapshot> load_snapshot(const std::filesystem::path& file);

}  // namespace signalbox
