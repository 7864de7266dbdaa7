// Snapshots of the world: files `<position>.snapshot` that spare a start the replay of what lies
// before them. They are disposable, and believed only after their checksum, their digest and the
// world's invariants have been looked at.
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
  MerkleFrontier frontier;  // of the log at world.position
  Digest digest;            // of the world
};

struct LoadedSnapshot {
  std::optional<WorldSnapshot> snapshot;  // none: start with an empty world
  std::vector<std::string> problems;      // a sentence for each file that was skipped
};

// How many are kept: the newest, and one more should that turn out bad.
inline constexpr std::size_t snapshots_kept = 2;

// Writes a snapshot (after a crash it is there as a whole or not at all) and removes those that are
// too many. `digest` is the world's. Makes the directory if need be.
Stored<void> write_snapshot(const std::filesystem::path& directory, const World& world,
                            const MerkleFrontier& frontier, const Digest& digest);

// The newest good snapshot at or before `position_max`, the log's tail.
LoadedSnapshot load_newest_snapshot(const std::filesystem::path& directory, Position position_max);

// One file. `damaged`, `unsupported` (another version wrote it), `not_found` or `io`.
Stored<WorldSnapshot> load_snapshot(const std::filesystem::path& file);

}  // namespace signalbox
