// What of the world is to be seen in run roots: the locks that are mirrored there, and the ticks
// that have a marker or a halt there. A fold of records; bounded by what is held and under way.
//
// It is a state of its own, and not the world's, because the files follow the log at their own
// pace: after a crash they go on from where they were, with the state of that position.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <boost/describe/class.hpp>

#include "domain/world.h"
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
  Token token = 0;  // 0: halted by a marker file that the log knows nothing of
  std::string stage;
  std::string reason;
  std::int64_t lease_ms = 0;
  std::int64_t started_at_ns = 0;
  RunId run_id{};
  std::string root;
  Position halted_at = 0;  // or 0
  std::string halt;        // the text of its halt file

  friend bool operator==(const MirroredTick&, const MirroredTick&) = default;
};
BOOST_DESCRIBE_STRUCT(MirroredTick, (),
                      (loop, token, stage, reason, lease_ms, started_at_ns, run_id, root, halted_at,
                       halt))

struct RunRootState {
  std::map<std::string, MirroredLock> locks;  // by key
  std::map<std::string, MirroredTick> ticks;  // by loop

  // Of several with one root, the one that was granted last has the file. nullptr: none has.
  [[nodiscard]] const MirroredLock* lock_of(const std::string& root) const;
  [[nodiscard]] const MirroredTick* marker_of(const std::string& root) const;
  [[nodiscard]] const MirroredTick* halt_of(const std::string& root) const;

  friend bool operator==(const RunRootState&, const RunRootState&) = default;
};

// The root that an event means: the one that it names, else the run's own below `runs`
// (<data>/runs); empty where there is neither.
std::string run_root_of(const std::string& named, const RunId& run_id,
                        const std::filesystem::path& runs);

// What the world shows of it. The text of halts isn't in the world: their files stay as they are.
RunRootState run_root_state_of(const World& world, const std::filesystem::path& runs);

// How far the files of run roots have followed the log, and the state there: a small file,
// <data>/projections/run_roots.json. Without it the files follow from the present on.
struct RunRootProgress {
  Position position = 0;
  RunRootState state;
  std::vector<RunId> runs;  // whose manifest is behind
};

Stored<void> save_progress(const std::filesystem::path& file, const RunRootProgress& progress);

// Nothing if it isn't there, can't be read, or is ahead of `tail`.
std::optional<RunRootProgress> load_progress(const std::filesystem::path& file, Position tail);

}  // namespace signalbox
