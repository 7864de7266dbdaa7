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

// Returns commits that the worktree's own git directory (options.place) names beside its HEAD; if
// that place has no work tree, `worktree` is just where git is run. They are named by
// such a ref, by an operation that wasn't finished (what it was to merge, what it put aside), and
// those of left_tips(). Some may be on branches as well, or be gone. Blocks on git. Error: a
// sentence, which says what to do: that there are more than limits::worktree_tips_max, or that
// something there can't be read or isn't understood. Nobody can tell then what goes with the
// worktree.
tl::expected<std::vector<std::string>, std::string> worktree_tips(
    const std::filesystem::path& worktree, const GitOptions& options);

// Returns commits that HEAD was at before it was moved elsewhere, such as by a checkout or a reset,
// as its log in the git directory says; of commits that follow each other, the last. What an
// amended commit or a rebase replaced isn't among them, but what a rebase began with is whose end
// the log doesn't have: it may have been quit, and that of a detached HEAD never logs its end.
// Errors: as above; `in_git` begins the commands in them, such as "git -C <directory>".
tl::expected<std::vector<std::string>, std::string> left_tips(
    const std::filesystem::path& git_directory, const std::string& in_git);

// Returns whether a rebase in the worktree of this git directory isn't finished.
bool has_unfinished_rebase(const std::filesystem::path& git_directory);

// Returns a directory with objects, inside the worktree or in its git directory, that the
// repository borrows from (objects/info/alternates, also of those that it borrows from); empty if
// there is none. Error: a sentence; that there are too many, or that one of those files can't be
// read.
tl::expected<std::filesystem::path, std::string> borrowed_from_worktree(
    const std::filesystem::path& worktree, const GitPlace& place);

}  // namespace signalbox
