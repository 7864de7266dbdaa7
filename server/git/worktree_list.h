// The worktrees of a repository, as `git worktree list` has them.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

namespace signalbox {

struct ListedWorktree {
  std::filesystem::path path;
  std::string head;    // a commit; empty of a bare repository
  std::string branch;  // without refs/heads/; empty where it is on none
  bool bare = false;
};

// The first one is the repository itself. Else a sentence that says what is wrong.
tl::expected<std::vector<ListedWorktree>, std::string> list_worktrees(
    const std::filesystem::path& repository);

// Of the text of `git worktree list --porcelain -z`.
std::vector<ListedWorktree> worktrees_in(std::string_view text);

// Whether `git worktree add` is at it or was killed at it, by the worktree's own git directory:
// then nobody has worked in it yet.
bool is_unfinished_worktree(const std::filesystem::path& own_git_directory);

}  // namespace signalbox
