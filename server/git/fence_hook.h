// The pre-push hook that asks Signalbox before a push from a run's worktree, and its installation.
//
// The hook runs the check only if the worktree has a fence marker. Every other push goes through
// without a running server or even an installed Signalbox. An existing hook is kept and runs after
// the check.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <tl/expected.hpp>

namespace signalbox {

struct FenceHookState {
  std::filesystem::path hook;     // the pre-push hook's path
  bool changed = false;           // this call wrote or removed the hook
  std::filesystem::path chained;  // the earlier hook, which runs after the check; or empty
};

struct FenceHookError {
  bool is_usage = true;  // the request is refused; false: reading or writing failed
  std::string message;
  std::vector<std::string> next_commands = {};
};

using FenceHookOutcome = tl::expected<FenceHookState, FenceHookError>;

// Installs the hook, which runs `binary fence check`, or updates an installed one. Another
// program's hook is refused unless `chain` is true: then it is renamed to
// pre-push.before-signalbox. A relative core.hooksPath is refused, because it names another
// directory in each worktree. Blocks on git and the disk. Any thread.
FenceHookOutcome install_fence_hook(const std::filesystem::path& repository,
                                    const std::filesystem::path& binary, bool chain);

// Removes the hook and restores the earlier one. Another program's hook is left unchanged. Any
// thread.
FenceHookOutcome uninstall_fence_hook(const std::filesystem::path& repository);

}  // namespace signalbox
