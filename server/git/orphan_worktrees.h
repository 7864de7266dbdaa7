// Worktrees that no run works in any more: what a start-up finds after a crash.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "server/git/worktree_removal.h"

namespace signalbox {

struct OrphanWorktree {
  std::filesystem::path path;
  std::string run_id;
  std::string branch;        // or empty
  std::string left_because;  // why it is left alone; empty: it is clean and can go
};

// By run id. Called on the caller's own thread.
using IsLive = std::function<bool(const std::string& run_id)>;

// The worktrees of `repository` below `runs_directory` (`<run id>/<name>`) whose run isn't live.
// Left alone are those named `merge-*` and those with unsaved work. Else a sentence that says why
// they can't be listed.
tl::expected<std::vector<OrphanWorktree>, std::string> list_orphans(
    const std::filesystem::path& repository, const std::filesystem::path& runs_directory,
    const IsLive& is_live);

struct OrphanOutcome {
  OrphanWorktree orphan;
  RemovalOutcome outcome;  // `left` with the reason, or `removed`
};

// Removes those that can go; tells about each one. Blocks as remove_worktree() does. Any thread.
tl::expected<std::vector<OrphanOutcome>, std::string> remove_orphans(
    const std::filesystem::path& repository, const std::filesystem::path& runs_directory,
    const IsLive& is_live);

}  // namespace signalbox
