// What a checkout doesn't bring into a worktree: the content of submodules, and of LFS files where
// git-lfs isn't set up or had no access to them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "server/git/git_command.h"

namespace signalbox {

struct MissingContent {
  std::vector<std::string> submodules;  // paths of those that aren't checked out
  std::vector<std::string> lfs_files;   // paths of files that are still pointers
};

// Looks into the worktree of `options.place`. `scratch` is an existing directory for a temporary
// file. Blocks on git and the disk. Error: git's message.
tl::expected<MissingContent, std::string> find_missing_content(
    const std::filesystem::path& worktree, const GitOptions& options,
    const std::filesystem::path& scratch);

// Returns sentences for a summary, after a blank, that say what is missing in a worktree of
// `repository` and what to do; empty if nothing is.
std::string missing_content_note(const MissingContent& missing,
                                 const std::filesystem::path& repository);

}  // namespace signalbox
