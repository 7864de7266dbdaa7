// The author of the commits that Signalbox makes: the identity that the repository configures, else
// Signalbox's own.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "server/git/git_command.h"

namespace signalbox {

// Returns arguments that precede the git command and set user.name and user.email where none is
// configured. Blocks on `git config`. Any thread.
std::vector<std::string> git_identity(const std::filesystem::path& directory,
                                      const GitOptions& options);

}  // namespace signalbox
