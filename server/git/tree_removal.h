// Removes a directory with all that is in it, also where a build made parts of it read-only.
#pragma once

#include <filesystem>
#include <string>

#include <tl/expected.hpp>

namespace signalbox {

// Nothing there is fine. Symbolic links are removed, never followed. Else a sentence that names the
// first file that would not go; the rest is gone.
tl::expected<void, std::string> remove_tree(const std::filesystem::path& path);

// Renames it to pending_delete_path() first, so that whoever looks in between finds all of it or
// nothing; and removes what an earlier call left under that name.
tl::expected<void, std::string> remove_tree_at_once(const std::filesystem::path& path);

// "<path>.removing".
std::filesystem::path pending_delete_path(const std::filesystem::path& path);

}  // namespace signalbox
