// What differs in a worktree from its HEAD, as `git status` reports it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "server/git/git_command.h"

namespace signalbox {

struct WorktreeStatus {
  bool changed = false;              // changed, staged or untracked files; ignored ones don't count
  bool tracked_changed = false;      // some of that isn't just untracked
  bool submodule_changed = false;    // a submodule is at another commit, was added or removed
  std::vector<std::string> tracked;  // files and submodules that changed, or were deleted
  std::vector<std::string> unmerged;   // those of them that a merge left in conflict
  std::vector<std::string> untracked;  // files
  // Untracked directories that are git repositories of their own, such as "vendor/other/".
  std::vector<std::string> repositories;
  std::vector<std::string> ignored;  // files, and directories that are ignored as a whole ("out/")
};

enum class IgnoredFiles : std::uint8_t { skip, list };

// Reads the status of the worktree without its check scratch directory. Doesn't look into
// submodules. `scratch` is an existing directory for a temporary file. Error: git's message.
tl::expected<WorktreeStatus, std::string> read_worktree_status(
    const std::filesystem::path& worktree, const GitOptions& options,
    const std::filesystem::path& scratch, IgnoredFiles ignored);

// Returns the names of ignored files for the file left_out.txt: one a line, shortened to
// limits::left_out_bytes_max.
std::string left_out_text(const std::vector<std::string>& ignored);

// Parses the output of `git status --porcelain=v2 -z --untracked-files=all`.
WorktreeStatus parse_worktree_status(std::string_view text);

}  // namespace signalbox
