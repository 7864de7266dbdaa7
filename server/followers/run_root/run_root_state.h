// The state that run roots mirror: locks with a run root, and ticks that have a marker or a halt
// file there. A fold of records; its size is bounded by the held locks and the ticks under way.
//
// It is separate from the world because the files follow the log at their own pace. After a crash
// they continue from their saved position, with the state of that position.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <boost/describe/class.hpp>

#include "domain/world.h"
#include "server/followers/run_root/file_change.h"
#include "store/store_error.h"

namespace signalbox {

struct MirroredLock {
  std::string key;
  std::string owner;
  Token token = 0;
  std::int64_t lease_ms = 0;
  std::int64_t acquired_at_ns = 0;
  std::int64_t expires_at_ns = 0;
  std::string reason;
  std::string root;

  friend bool operator==(const MirroredLock&, const MirroredLock&) = default;
};
BOOST_DESCRIBE_STRUCT(MirroredLock, (),
                      (key, owner, token, lease_ms, acquired_at_ns, expires_at_ns, reason, root))

struct MirroredTick {
  std::string loop;
  Token token = 0;  // 0: halted by a marker file that the log doesn't have
  std::string stage;
  std::string reason;
  std::int64_t lease_ms = 0;
  std::int64_t started_at_ns = 0;
  RunId run_id{};
  std::string root;
  Position halted_at = 0;  // position of the halt; 0: not halted
  std::string halt;        // text of its halt file, or empty

  friend bool operator==(const MirroredTick&, const MirroredTick&) = default;
};
BOOST_DESCRIBE_STRUCT(MirroredTick, (),
                      (loop, token, stage, reason, lease_ms, started_at_ns, run_id, root, halted_at,
                       halt))

struct RunRootState {
  std::map<std::string, MirroredLock> locks;  // by key
  std::map<std::string, MirroredTick> ticks;  // by loop

  // Return the lock, the tick and the halted tick that the root's file is about, or nullptr. Where
  // several have the same root, the latest one has the file.
  [[nodiscard]] const MirroredLock* lock_of(const std::string& root) const;
  [[nodiscard]] const MirroredTick* marker_of(const std::string& root) const;
  [[nodiscard]] const MirroredTick* halt_of(const std::string& root) const;

  friend bool operator==(const RunRootState&, const RunRootState&) = default;
};

// Returns the run root of an event: `named` if it isn't empty, else the run's own below `runs`
// (<data>/runs); empty if there is neither.
std::string run_root_of(const std::string& named, const RunId& run_id,
                        const std::filesystem::path& runs);

// Returns the part of the state that the world has. Halt texts aren't in the world, so existing
// halt files stay as they are.
RunRootState run_root_state_of(const World& world, const std::filesystem::path& runs);

// How far the files of run roots have followed the log, and the state at that position. It is kept
// in a small file, <data>/projections/run_roots.json; without it the writer starts at the log's
// tail.
struct RunRootProgress {
  Position position = 0;
  RunRootState state;
  std::vector<RunId> runs;           // whose files are behind
  std::vector<FailedChange> failed;  // to be tried again
};

// Replaces the progress file, and makes its directory as needed. Blocks.
Stored<void> save_progress(const std::filesystem::path& file, const RunRootProgress& progress);

// Reads the progress file. Returns nullopt if it is absent, unreadable, or ahead of `tail`. Blocks.
std::optional<RunRootProgress> load_progress(const std::filesystem::path& file, Position tail);

}  // namespace signalbox
