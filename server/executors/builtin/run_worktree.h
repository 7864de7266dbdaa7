// The worktree at a run's workspace: how the stations that create one (intake, merge) inspect,
// clear and create it. All functions block on git or the disk.
#pragma once

#include "server/executors/builtin/builtin_station.h"

namespace signalbox {

using BuiltinStep = tl::expected<void, Failure>;

// Checks that the run's repository is a repository itself, bare or with a work tree, and not a
// directory somewhere inside one. Error: REPOSITORY_INVALID (config).
BuiltinStep check_repository(const BuiltinRequest& request);

enum class WorkspaceState {
  nothing,     // nothing there, or an empty directory
  worktree,    // a worktree of the run's repository
  unfinished,  // a worktree that git didn't finish: nobody has worked in it
  other,
};
// Returns what is at the workspace's path.
WorkspaceState inspect_workspace(const BuiltinRequest& request);

// Clears the workspace's path: what is there is renamed to workspace.set-aside-N, and removed only
// if it is unfinished. Error: STORAGE_FAILED (transient).
BuiltinStep clear_workspace(const BuiltinRequest& request, WorkspaceState found);

// Runs `git worktree add` with `options` before the path and `start` after it, and writes the
// worktree's fence marker. Errors: WORKTREE_FAILED, STORAGE_FAILED (transient).
BuiltinStep add_worktree(const BuiltinRequest& request, const std::vector<std::string>& options,
                         const std::string& start);
// Writes the fence marker of an existing worktree. Errors: GIT_FAILED, STORAGE_FAILED (transient).
BuiltinStep mark_worktree(const BuiltinRequest& request);

// Returns whether the workspace is the top of a git work tree of its own.
bool workspace_is_worktree(const BuiltinRequest& request);

// STORAGE_FAILED and GIT_FAILED (transient).
tl::unexpected<Failure> storage_failed(const std::string& message);
tl::unexpected<Failure> git_failed(const std::string& what, const std::string& message);
// REPOSITORY_BUSY (transient), with the reason why the repository's lock wasn't acquired.
tl::unexpected<Failure> repository_busy(const std::string& why);

}  // namespace signalbox
