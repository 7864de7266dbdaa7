// Content of files that an index names and that the repository has no object of any more: whoever
// worked in a worktree can have removed it. Git writes no tree of such an index.
#pragma once

#include <filesystem>
#include <set>
#include <string>

#include <tl/expected.hpp>

#include "server/git/git_command.h"

namespace signalbox {

// Runs `git write-tree` on the index that `options` name. If objects are missing, the worktree's
// files are added again whose content is in none, and those are removed from the index that aren't
// there; conflicts, submodules and files that a sparse checkout leaves out stay as they are.
// `lost` gets the names of files whose content isn't in the worktree either. `scratch` is an
// existing directory for a temporary file. Blocks on git. Error: git's message, if the files can't
// be added again.
tl::expected<GitOutcome, std::string> write_tree(const std::filesystem::path& worktree,
                                                 const GitOptions& options,
                                                 const std::filesystem::path& scratch,
                                                 std::set<std::string>& lost);

// Returns a paragraph for a commit's message that names the lost files.
std::string lost_content_note(const std::set<std::string>& lost);

}  // namespace signalbox
