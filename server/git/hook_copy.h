// Copies a directory of hooks, so that a later change of the original has no effect.
#pragma once

#include <filesystem>
#include <string>

#include <tl/expected.hpp>

namespace signalbox {

// Copies the regular files below `from`, with their modes, to the directory `to`, which exists.
// Symbolic links to files are copied as the files; links to directories and git's samples are left
// out. A missing `from` has no hooks. Error: a sentence, also if `from` has more than
// limits::hook_files_max files and directories or limits::hooks_bytes_max bytes, whether they would
// be copied or not. Blocks on the disk. Any thread.
tl::expected<void, std::string> copy_hooks(const std::filesystem::path& from,
                                           const std::filesystem::path& to);

// Completes a copy of hooks, which lie at `hooks` below `from` and are copied to the same path
// below `to`, by what they reach through "..": what lies beside the directories on the way to them.
// Copies that as copy_hooks() does, as far as it does, and links the rest and all that lies in
// `from` itself. Links are to what is in `from` when a hook runs. Error: a sentence. Blocks on the
// disk. Any thread.
tl::expected<void, std::string> link_beside_hooks(const std::filesystem::path& from,
                                                  const std::filesystem::path& hooks,
                                                  const std::filesystem::path& to);

// Returns whether `from` has a hook that copy_hooks() to `to` would add or replace, or more than it
// would copy. Reads no more than these limits. Blocks on the disk. Any thread.
bool has_other_hooks(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace signalbox
