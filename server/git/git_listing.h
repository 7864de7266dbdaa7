// The whole output of a git command that lists files, which may be longer than git() keeps.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "server/git/git_command.h"

namespace signalbox {

inline constexpr std::size_t git_listing_bytes_max = 1024UL * 1024 * 1024;

// Runs git as git() does and returns its output. `scratch` is an existing directory for a temporary
// file, which several calls at a time, of any process, may share. Error: git's message, or that the
// output is longer than `bytes_max`.
tl::expected<std::string, std::string> git_listing(const std::filesystem::path& directory,
                                                   std::vector<std::string> arguments,
                                                   GitOptions options,
                                                   const std::filesystem::path& scratch,
                                                   std::size_t bytes_max = git_listing_bytes_max);

}  // namespace signalbox
