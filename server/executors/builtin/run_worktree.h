// The worktree at a run's workspace: how the stations that create one (intake, merge) inspect,
// clear and create it. All functions block on git or the disk.
#pragma once

#include "server/executors/builtin/builtin_station.h"
#include "server/git/pinned_repository.h"

namespace signalbox {

using BuiltinStep = tl::expected<void, Failure>;

// Checks that the run's repository is a repository itself, bare or with a work tree, and not a
// directory somewhere inside one. Errors: REPOSITORY_AWAY
// (transient), REPOSITORY_INVALID (config).
BuiltinStep check_repository(const BuiltinRequest& request);

enum class WorkspaceState {
  nothing,     // nothing there, or an empty directory
  worktree,    // a worktree of the run's repository
  unfinished,  // a worktree that git didn't finish: nobody has worked in it
  other,
};
// Returns what is at the workspace's path.
WorkspaceState inspect_workspace(const BuiltinRequest& request);

// Gives git's record of a worktree at the workspace's path a HEAD that git can read, if git was
// killed while it made that worktree. Until then every fetch in the repository fails.
void mend_unborn_worktree(const BuiltinRequest& request);
// The same for git's record of any worktree, which nobody is making. Returns whether it was so.
bool mend_unborn_head(const std::filesystem::path& record);

// Clears the workspace's path: what is there is renamed to workspace.set-aside-N, and removed only
// if it is unfinished; git's record of the run's own worktree there goes. Errors: STORAGE_FAILED
// (transient); WORKSPACE_TAKEN (config) if another run's worktree is on record there and isn't
// there.
BuiltinStep clear_workspace(const BuiltinRequest& request, WorkspaceState found);

// Pins the request's repository for the run, unless that was done before. Errors:
// REPOSITORY_INVALID (config).
tl::expected<PinnedRepository, Failure> pin_repository(const BuiltinRequest& request);
// Opens what an earlier station of the run pinned. Error: STORAGE_FAILED (transient).
tl::expected<PinnedRepository, Failure> open_pinned(const BuiltinRequest& request);

// Runs `git worktree add` with `options` before the path and `start` after it, checks the files out
// as the pinned repository is configured, and writes the worktree's fence marker. Errors:
// WORKTREE_FAILED, STORAGE_FAILED, GIT_FAILED (transient). Returns a sentence, with a space before
// it, about files that differ from how git would commit them; or an empty text.
tl::expected<std::string, Failure> add_worktree(const BuiltinRequest& request,
                                                PinnedRepository& pinned,
                                                const std::vector<std::string>& options,
                                                const std::string& start);
// Writes the fence marker of an existing worktree. Errors: WORKSPACE_TAMPERED (config);
// STORAGE_FAILED (transient).
BuiltinStep mark_worktree(const BuiltinRequest& request, const PinnedRepository& pinned);

// Checks out the submodules of a worktree in which nobody has worked yet. Returns sentences for a
// summary, after a blank, about submodules and LFS files whose content isn't there; or an empty
// text.
std::string complete_worktree(const BuiltinRequest& request, const GitPlace& place);

// Returns where git works in the run's workspace. Errors: not_a_worktree() if no station made one;
// WORKSPACE_TAMPERED (config) if its `.git` isn't what intake or merge made: no git command may run
// there. REPOSITORY_AWAY (transient) if the repository itself isn't there.
tl::expected<GitPlace, Failure> workspace_place(const BuiltinRequest& request,
                                                const PinnedRepository& pinned,
                                                const std::string& hint);

// Returns which command names the one that has the run tried again, for the end of a message. A
// station doesn't know: a card's run is tried again as another one, and then it is `card unblock`.
std::string retry_hint(const BuiltinRequest& request);

// WORKSPACE_NOT_REPOSITORY (config), with `hint` after the sentence.
tl::unexpected<Failure> not_a_worktree(const BuiltinRequest& request, const std::string& hint);

// Returns sentences for a message, after an empty line, if programs or remotes in the repository's
// configuration aren't any more what the run uses; else an empty text.
std::string changed_since_intake(const BuiltinRequest& request, const PinnedRepository& pinned);

// Returns `failed`, what git says, and changed_since_intake(), which has room in a message: git's
// words are shortened for it, if need be.
std::string with_git_message(const BuiltinRequest& request, const PinnedRepository& pinned,
                             const std::string& failed, const std::string& message);

// STORAGE_FAILED and GIT_FAILED (transient).
tl::unexpected<Failure> storage_failed(const std::string& message);
tl::unexpected<Failure> git_failed(const std::string& what, const std::string& message);
// Why git made no commit: GIT_FAILED (transient), REPOSITORY_INVALID (config) if it couldn't sign
// it, and else COMMIT_FAILED (terminal) with `message`.
tl::unexpected<Failure> commit_failed(const BuiltinRequest& request, const GitOptions& there,
                                      const GitOutcome& outcome, const std::string& message);
// REPOSITORY_BUSY (transient), with the reason why the repository's lock wasn't acquired.
tl::unexpected<Failure> repository_busy(const std::string& why);

}  // namespace signalbox
