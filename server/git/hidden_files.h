// Files of which git reports no change, because somebody has marked them so in a worktree's index:
// `git update-index --assume-unchanged` and `--skip-worktree`; or of which an index that is
// damaged, or a setting, doesn't show any. Work in them would be lost.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "server/git/git_command.h"

namespace signalbox {

struct MarkedFiles {
  std::vector<std::string> hidden;
  // Files that a sparse checkout leaves out, as far as git shows: an agent in the worktree may as
  // well have deleted a file and marked it so.
  std::vector<std::string> left_out;
};

// Lists the marked files. `scratch` is an existing directory for a temporary file; what
// remember_left_out() wrote is read where the repository is pinned (options.place). Blocks on git.
// Error: git's message.
tl::expected<MarkedFiles, std::string> marked_files(const std::filesystem::path& worktree,
                                                    const GitOptions& options,
                                                    const std::filesystem::path& scratch);

// Lists the marked files, without those that a sparse checkout leaves out: a worktree that never
// had one has no file info/sparse-checkout in its git directory (options.place). `scratch` is an
// existing directory for a temporary file. Blocks on git. Error: git's message.
tl::expected<std::vector<std::string>, std::string> hidden_files(
    const std::filesystem::path& worktree, const GitOptions& options,
    const std::filesystem::path& scratch);

// Writes down, in the directory `pins`, which files the sparse checkout of a new worktree leaves
// out. Error: a sentence.
tl::expected<void, std::string> remember_left_out(const std::filesystem::path& worktree,
                                                  const GitOptions& options,
                                                  const std::filesystem::path& pins);

// Returns the files that a sparse checkout leaves out now and that weren't written down: whoever
// worked in the worktree has deleted them, or has made the checkout sparse. Nothing tells which, so
// that no commit has their deletion. Error: git's message.
tl::expected<std::vector<std::string>, std::string> newly_left_out(
    const std::filesystem::path& worktree, const GitOptions& options,
    const std::filesystem::path& pins);

// Copies an index with its time, by which git knows the files that may have been changed since they
// were added: those that aren't older. Error: a sentence; also that it isn't a regular file, or is
// larger than limits::worktree_index_bytes_max.
tl::expected<void, std::string> copy_index(const std::filesystem::path& from,
                                           const std::filesystem::path& to);

// Does the same with an index that is there, also behind a link. Succeeds, and copies nothing, if
// `from` leads to no regular file. Error: also that this isn't known.
tl::expected<void, std::string> copy_index_if_there(const std::filesystem::path& from,
                                                    const std::filesystem::path& to);

enum class IndexOrigin : std::uint8_t {
  own,   // what was there
  made,  // HEAD: nothing, or nothing that is an index, was there
};
// Makes the index that `options` name from HEAD if there is none at `index`, its path: without
// one, git takes tracked files that .gitignore names for ignored ones. Files that a sparse checkout
// leaves out, or left out when the worktree was made, are marked in it, as they were. A link to an
// index is replaced by a copy of that, and one that leads nowhere as if it weren't there. A
// directory, or a file that git calls a damaged index, is renamed to "<index>.set-aside". Blocks on
// git. Error: a sentence with git's message, also where git couldn't read the index this time:
// nothing was changed then, since only the index has what was staged.
tl::expected<IndexOrigin, std::string> mend_index(const std::filesystem::path& worktree,
                                                  const GitOptions& options,
                                                  const std::filesystem::path& index);

// Returns settings with which git misses no change in the worktree: that times of files, and their
// modes where the disk keeps them, don't count may be said by a configuration.
std::vector<std::string> revealing_settings(const std::filesystem::path& worktree);

// Removes the marks of these files from the index that `options` name, so that git reports and adds
// their changes. Returns the files. Blocks on git. Error: git's message.
tl::expected<std::vector<std::string>, std::string> reveal_hidden_files(
    const std::filesystem::path& worktree, const GitOptions& options,
    const std::filesystem::path& scratch);

}  // namespace signalbox
