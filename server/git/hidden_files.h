// Files of which git reports no change, because somebody has marked them so in a worktree's index:
// `git update-index --assume-unchanged` and `--skip-worktree`. Work in them would be lost.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "server/git/git_command.h"

namespace signalbox {

// Lists the marked files, without those that a sparse checkout leaves out: a worktree that never
// had one has no file info/sparse-checkout in its git directory (options.place). `scratch` is an
// existing directory for a temporary file. Blocks on git. Error: git's message.
tl::expected<std::vector<std::string>, std::string> hidden_files(
    const std::filesystem::path& worktree, const GitOptions& options,
    const std::filesystem::path& scratch);

// Removes the marks of these files from the index that `options` name, so that git reports and adds
// their changes. Returns the files. Blocks on git. Error: git's message.
tl::expected<std::vector<std::string>, std::string> reveal_hidden_files(
    const std::filesystem::path& worktree, const GitOptions& options,
    const std::filesystem::path& scratch);

}  // namespace signalbox
