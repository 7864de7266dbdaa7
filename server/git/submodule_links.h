// The submodules of a worktree. Git looks for changes inside each of them with the configuration
// that it has there, which whoever works in the worktree can write. These functions never do.
#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "server/git/git_command.h"

namespace signalbox {

// Returns the paths of the index's entries that are submodules, relative to the worktree and
// sorted. `scratch` is an existing directory for a temporary file. Error: git's message, or that
// there are more than limits::submodules_max.
tl::expected<std::vector<std::string>, std::string> submodule_links(
    const std::filesystem::path& worktree, const GitOptions& options,
    const std::filesystem::path& scratch);

// Returns the paths of those entries that aren't in the commit `base`, or are another commit there.
// Errors: as above.
tl::expected<std::vector<std::string>, std::string> changed_submodule_links(
    const std::filesystem::path& worktree, const GitOptions& options,
    const std::filesystem::path& scratch, const std::string& base);

struct DeclaredSubmodule {
  std::string path;  // relative to the worktree
  std::string name;

  friend auto operator<=>(const DeclaredSubmodule&, const DeclaredSubmodule&) = default;
};

// Returns what the index's .gitmodules names, sorted.
std::vector<DeclaredSubmodule> declared_submodules(const std::filesystem::path& worktree,
                                                   const GitOptions& options);
bool is_declared(const std::vector<DeclaredSubmodule>& declared, const std::string& path);

// Returns whether files lie at the submodule's path that aren't in a repository there. Git doesn't
// see them: to it, the submodule just isn't checked out.
bool has_files_in_place_of_submodule(const std::filesystem::path& worktree,
                                     const std::string& link);

// Adds all changes of the worktree to its index, except the check scratch directory: for a
// submodule, the commit that it is at, and for files in its place, the files. The untracked files
// `left_out` aren't added. Errors: as above.
tl::expected<void, std::string> add_changes(const std::filesystem::path& worktree,
                                            const GitOptions& options,
                                            const std::filesystem::path& scratch,
                                            const std::vector<std::string>& left_out = {});

}  // namespace signalbox
