// What `git status` says nothing about in a worktree: `.git` entries in directories that have
// tracked files, or that are no repository (any more), and directories that can't be read.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "server/limits.h"

namespace signalbox {

struct UnlistedDirectories {
  std::vector<std::string> repositories;  // relative to the worktree; each has a `.git`
  std::vector<std::string> unreadable;

  [[nodiscard]] bool any() const { return !repositories.empty() || !unreadable.empty(); }
};

// Walks through the worktree, without following links, and not into the directories `listed`, which
// git has named: ignored ones ("out/"), repositories, submodules. At most limits::large_files_max
// of each kind are named. Error: that there are more than `entries_max` entries.
tl::expected<UnlistedDirectories, std::string> find_unlisted(
    const std::filesystem::path& worktree, const std::vector<std::string>& listed,
    std::size_t entries_max = limits::walked_entries_max);

}  // namespace signalbox
