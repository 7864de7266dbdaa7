// The worktrees of a repository, as `git worktree list` reports them.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

namespace signalbox {

struct ListedWorktree {
  std::filesystem::path path;
  std::string head;    // commit hash; empty for a bare repository
  std::string branch;  // without refs/heads/; empty if no branch is checked out
  bool bare = false;
};

// Lists the worktrees; the first one is the repository itself. Blocks on git. Error: a sentence
// with git's reason.
tl::expected<std::vector<ListedWorktree>, std::string> list_worktrees(
    const std::filesystem::path& repository);

// Parses the output of `git worktree list --porcelain -z`.
std::vector<ListedWorktree> parse_worktree_list(std::string_view text);

// Returns the own git directory of the worktree that the repository has on record at `path`, also
// if the directory at `path` isn't there; empty if there is none. Reads files, without git.
std::filesystem::path find_worktree_record(const std::filesystem::path& repository,
                                           const std::filesystem::path& path);

// Returns whether `git worktree add` is still creating this worktree or was killed while it did.
// Takes the worktree's own git directory. Nobody has worked in an unfinished worktree yet.
bool is_unfinished_worktree(const std::filesystem::path& own_git_directory);

// Returns whether a run's worktree at this path is made for a merge. No agent works there.
bool is_merge_worktree(const std::filesystem::path& path);

}  // namespace signalbox
