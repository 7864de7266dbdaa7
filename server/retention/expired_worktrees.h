// The worktrees in the run root of one run that ended, for ExpiredRunFiles. What exists nowhere
// else stays: work that no ref has, and whatever git has no answer about.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "server/followers/run_root/run_root_place.h"
#include "server/scheduler/file_retention.h"

namespace signalbox {

struct RunWorktrees {
  ExpiredRun run;
  std::filesystem::path data;                         // the data directory
  bool only_look = false;                             // nothing is removed
  std::shared_ptr<const RunRootRule> rule = nullptr;  // the directories for run roots
};

struct ClearedWorktrees {
  std::uint64_t bytes = 0;  // of worktrees; in a look only of those in a root that was named
  std::vector<std::filesystem::path> gone;  // worktrees that are gone, or would be
  std::size_t ignored_total = 0;            // ignored files that go with them
  std::vector<std::string> ignored_first;   // names of some of these
  std::string kept;                         // the first path that has to stay, or empty
  std::string reason;                       // why, a sentence without a full stop
};

// Removes the worktrees in the run root until one has to stay: then the run root stays with it. In
// a root that was named, what is removed is in the directory that was opened at first, also if the
// names that lead there lead elsewhere by then.
// Blocks on git and on the disks of the root and the repository. Any thread.
ClearedWorktrees clear_worktrees(const RunWorktrees& request, const std::atomic<bool>& stopped);

// Returns what in the run's own root has to stay, as a sentence; empty: nothing. `root` is where
// the root is now: it was renamed, so nobody makes anything there any more. Blocks on the disk.
std::string reason_to_keep_root(const ExpiredRun& run, const std::filesystem::path& root);

// Returns false if a run that the log doesn't have may have had a repository: then a workspace
// without `.git` may be a worktree. `root` is its own run root. Blocks on the disk.
bool had_no_repository(const RunId& run_id, const std::filesystem::path& root);

}  // namespace signalbox
