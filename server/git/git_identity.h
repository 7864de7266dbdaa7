// Who makes the commits that Signalbox makes: who the repository's owner says, else Signalbox.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace signalbox {

// Arguments for git, before its command, that give it an identity where none is configured.
std::vector<std::string> git_identity(const std::filesystem::path& directory);

}  // namespace signalbox
