// Files that are too large for a commit that nobody looks at before it is pushed. Files that a
// filter of git replaces by something small, as LFS does, aren't.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "server/git/git_command.h"

namespace signalbox {

// The key of git's configuration that replaces limits::committed_file_bytes_max in a repository.
inline constexpr const char* file_bytes_max_key = "signalbox.fileBytesMax";

struct LargeFile {
  std::string path;  // relative to the worktree
  std::uint64_t bytes = 0;
};

// Returns the size of the largest file that may be committed: what file_bytes_max_key says, such as
// "200m", or limits::committed_file_bytes_max. Error: git's message, or that it isn't a size.
tl::expected<std::uint64_t, std::string> committed_file_bytes_max(
    const std::filesystem::path& worktree, const GitOptions& options);

// Returns those of the files `untracked` that are larger than `bytes_max` and that no filter takes,
// at most limits::large_files_max. Reads no file. Error: git's message.
tl::expected<std::vector<LargeFile>, std::string> large_untracked_files(
    const std::filesystem::path& worktree, const std::vector<std::string>& untracked,
    std::uint64_t bytes_max, const GitOptions& options);

// Returns the files larger than `bytes_max` that are in the index or in a commit of `head`, but not
// in `base` or a branch of a remote, at most limits::large_files_max. `head` and `base` are whole
// object ids; `scratch` is an existing directory for a temporary file. Error: git's message.
tl::expected<std::vector<LargeFile>, std::string> large_committed_files(
    const std::filesystem::path& worktree, const std::string& head, const std::string& base,
    std::uint64_t bytes_max, const GitOptions& options, const std::filesystem::path& scratch);

// Returns the files with their sizes for a message, such as "core (80.1 MiB), a/b (61 MiB)".
std::string large_files_text(const std::vector<LargeFile>& files);

// Returns a size for a message, such as "80.1 MiB".
std::string size_text(std::uint64_t bytes);

}  // namespace signalbox
