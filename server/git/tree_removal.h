// Removal of a directory with its content, also where a build made parts of it read-only. Any
// thread.
#pragma once

#include <filesystem>
#include <string>

#include <tl/expected.hpp>

namespace signalbox {

// Removes the tree; succeeds if nothing is there. Symbolic links are removed, never followed.
// Error: a sentence that names the tree and the reason; what could be removed is gone.
tl::expected<void, std::string> remove_tree(const std::filesystem::path& path);

// Renames the tree to pending_delete_path() first, so that other processes see all of it or
// nothing. Then removes it. Also removes what an earlier call left under that name.
tl::expected<void, std::string> remove_tree_atomically(const std::filesystem::path& path);

// Returns "<path>.removing".
std::filesystem::path pending_delete_path(const std::filesystem::path& path);

}  // namespace signalbox
