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

enum class UntrackedFiles : std::uint8_t { skip, count };

struct OwnWork {
  // In words that follow the repository's name, such as "has changes that aren't committed"; empty
  // if there is nothing.
  std::string what;
  std::vector<std::string> ignored;  // files, and directories that are ignored as a whole ("out/")
};

// Returns what the repository at `path` holds that exists nowhere else, also in files that are
// marked as unchanged (hidden_files.h). It is pinned in a directory in `scratch` for that, without
// any program that its configuration names. Error: a sentence.
tl::expected<OwnWork, std::string> own_work_of(const std::filesystem::path& path,
                                               const std::filesystem::path& scratch,
                                               UntrackedFiles untracked);

// Adds all changes of the worktree to its index, except the check scratch directory: for a
// submodule, the commit that it is at, and for files in its place, the files. The untracked files
// `left_out` aren't added. Errors: as above.
tl::expected<void, std::string> add_changes(const std::filesystem::path& worktree,
                                            const GitOptions& options,
                                            const std::filesystem::path& scratch,
                                            const std::vector<std::string>& left_out = {});

}  // namespace signalbox
