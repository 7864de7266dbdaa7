// The pre-push hook of a repository that asks Signalbox before a push from a run's worktree.
//
// It looks for the worktree's fence marker itself, so that every other push is none of its business
// and works without Signalbox, too. A hook that was there before is kept and runs after the check.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <tl/expected.hpp>

namespace signalbox {

struct FenceHookState {
  std::filesystem::path hook;     // the file
  bool changed = false;           // by this call
  std::filesystem::path chained;  // the hook that runs after it, or empty
};

struct FenceHookError {
  bool is_usage = true;  // what was asked for can't be; else reading or writing failed
  std::string message;
  std::vector<std::string> next_commands = {};
};

using FenceHookOutcome = tl::expected<FenceHookState, FenceHookError>;

// Installs it for `binary fence check`; again: brings it up to date. Somebody else's hook is
// refused, unless `chain`: then it becomes pre-push.before-signalbox. A core.hooksPath that is
// relative is refused: it means another directory in each worktree.
FenceHookOutcome install_fence_hook(const std::filesystem::path& repository,
                                    const std::filesystem::path& binary, bool chain);

// Takes it away and puts the one before it back. Somebody else's is left as it is.
FenceHookOutcome uninstall_fence_hook(const std::filesystem::path& repository);

}  // namespace signalbox
