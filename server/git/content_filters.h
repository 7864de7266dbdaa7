// The programs through which .gitattributes has git commit files, such as those of LFS and
// git-crypt.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "server/git/git_command.h"

namespace signalbox {

struct UnfilteredFile {
  std::string path;
  std::string filter;  // its name in .gitattributes
};

// Returns the files among `paths` that have a filter for which the configuration names no program:
// git would commit them as they are. Sorted, each once. `scratch` is an existing directory for a
// temporary file. Error: git's message.
tl::expected<std::vector<UnfilteredFile>, std::string> files_without_filter(
    const std::filesystem::path& worktree, const GitOptions& options,
    const std::filesystem::path& scratch, std::vector<std::string> paths);

}  // namespace signalbox
