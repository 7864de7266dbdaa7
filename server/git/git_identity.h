// The author of the commits that Signalbox makes: the identity that the repository configures, else
// Signalbox's own.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "server/git/git_command.h"

namespace signalbox {

// Returns which of user.name and user.email aren't configured. Error: why git can't say. Blocks on
// `git config`. Any thread.
tl::expected<std::vector<std::string>, std::string> missing_identity(
    const std::filesystem::path& directory, const GitOptions& options);

// Returns arguments that precede the git command and set user.name and user.email where none is
// configured. Blocks on `git config`. Any thread.
std::vector<std::string> git_identity(const std::filesystem::path& directory,
                                      const GitOptions& options);

}  // namespace signalbox
