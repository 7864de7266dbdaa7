// The submodules of a worktree. Git looks for changes inside each of them with the configuration
// that it has there, which whoever works in the worktree can write. These functions never do.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "server/git/git_command.h"

namespace signalbox {

// Returns the paths of the index's entries that are submodules, relative to the worktree. `scratch`
// is an existing directory for a temporary file. Error: git's message, or that there are more than
// limits::submodules_max.
tl::expected<std::vector<std::string>, std::string> submodule_links(
    const std::filesystem::path& worktree, const GitOptions& options,
    const std::filesystem::path& scratch);

// Adds all changes of the worktree to its index, except the check scratch directory: for a
// submodule, the commit that it is at. Errors: as above.
tl::expected<void, std::string> add_changes(const std::filesystem::path& worktree,
                                            const GitOptions& options,
                                            const std::filesystem::path& scratch);

}  // namespace signalbox
