// Checks out the submodules of a new worktree, before anybody works in it.
#pragma once

#include <filesystem>
#include <string>

#include "server/git/git_command.h"

namespace signalbox {

// Checks out those submodules that the repository's owner has initialized (`git submodule init`):
// their URLs are the owner's, and not those that a commit's .gitmodules names. Each is cloned from
// the owner's own clone of it where there is one with that commit, else from its URL, as git allows
// for submodules: not from a path. A submodule's own submodules aren't checked out.
//
// `place` is that of the pinned repository, whose configuration names the URLs; `scratch` is an
// existing directory for a temporary file. Blocks for at most submodules_ms_max. Returns sentences,
// after a blank, that say what failed, or an empty text.
std::string check_out_submodules(const std::filesystem::path& worktree, const GitPlace& place,
                                 const std::filesystem::path& scratch);

}  // namespace signalbox
