// What depends on a worktree without being in its files: commits that only the worktree's own git
// directory refers to, and objects of the repository that lie in the worktree. Both would go with
// it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "server/git/git_command.h"

namespace signalbox {

// Refs that each worktree has for itself. They don't keep a commit once it is gone.
inline constexpr const char* worktree_refs[] = {"refs/bisect/*", "refs/worktree/*",
                                                "refs/rewritten/*"};

// Returns commits that the worktree's own git directory (options.place) names beside its HEAD: by
// such a ref, by an operation that wasn't finished (what it was to merge, what it put aside), and
// commits of a detached HEAD that was left by a checkout. Some may be on branches as well, or be
// gone. At most limits::worktree_tips_max. Blocks on git. Error: git's message.
tl::expected<std::vector<std::string>, std::string> worktree_tips(
    const std::filesystem::path& worktree, const GitOptions& options);

// Returns a directory with objects, inside the worktree or in its git directory, that the
// repository borrows from (objects/info/alternates, also of those that it borrows from); empty if
// there is none.
std::filesystem::path borrowed_from_worktree(const std::filesystem::path& worktree,
                                             const GitPlace& place);

}  // namespace signalbox
