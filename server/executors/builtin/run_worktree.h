// The worktree at a run's workspace, as the stations that make one (intake, merge) find and make
// it.
#pragma once

#include "server/executors/builtin/builtin_station.h"

namespace signalbox {

using BuiltinStep = tl::expected<void, Failure>;

// That the run's repository is one itself, bare or with a work tree: a directory somewhere below
// one isn't meant. REPOSITORY_INVALID (config).
BuiltinStep check_repository(const BuiltinRequest& request);

enum class WorkspaceState {
  nothing,     // or an empty directory
  worktree,    // of the run's repository
  unfinished,  // one that git didn't finish: nobody has worked in it
  other,
};
WorkspaceState look_at_workspace(const BuiltinRequest& request);

// Leaves nothing at the workspace's path: what stands there is renamed to workspace.set-aside-N,
// and removed only if it is unfinished. STORAGE_FAILED (transient).
BuiltinStep clear_workspace(const BuiltinRequest& request, WorkspaceState found);

// `git worktree add` with these arguments before the path, and `start` behind it; and the
// worktree's fence marker. WORKTREE_FAILED, STORAGE_FAILED (transient).
BuiltinStep add_worktree(const BuiltinRequest& request, const std::vector<std::string>& options,
                         const std::string& start);
// Writes the marker of a worktree that is there already. STORAGE_FAILED (transient).
BuiltinStep mark_worktree(const BuiltinRequest& request);

// Whether the workspace is the top of a git work tree of its own.
bool workspace_is_worktree(const BuiltinRequest& request);

tl::unexpected<Failure> storage_failed(const std::string& message);
tl::unexpected<Failure> git_failed(const std::string& what, const std::string& message);
// REPOSITORY_BUSY (transient), with why the repository's lock wasn't got.
tl::unexpected<Failure> repository_busy(const std::string& why);

}  // namespace signalbox
