// Measures and removes directories that this service made, over open descriptors: no symbolic link
// is followed at any level, no other file system is entered, and the directory must belong to this
// user. So whatever a job puts in the place of its own directory, nothing else is removed. However
// deep a job made them, a call has at most owned_tree_depth_max of them open, and as much stack.
//
// Errors: `not_found`; `io` with a sentence that says why nothing, or not all, was removed. All
// functions block on the disk. Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "store/store_error.h"

namespace signalbox {

// The size of a tree on its disk.
struct TreeSize {
  std::uint64_t bytes = 0;
  std::uint64_t entries = 0;

  TreeSize& operator+=(const TreeSize& other) {
    bytes += other.bytes;
    entries += other.entries;
    return *this;
  }
};

// Measures the directory `name` in `parent`. What lies deeper than owned_tree_depth_max directories
// isn't counted. Ends early, with what it has counted, once `stopped` is set.
Stored<TreeSize> measure_owned_tree(const std::filesystem::path& parent, const std::string& name,
                                    const std::atomic<bool>& stopped);

// Returns why a directory has to stay, as a sentence; empty: it may go.
using ReasonToKeepTree = std::function<std::string(const std::filesystem::path& directory)>;

// Removes the directory `name` in `parent`, and what an interrupted call left of it; returns what
// it held. It is renamed to "<name>.removing" first, so others see all of it or nothing. Then
// `reason_to_keep` is asked, since nobody finds the directory any more who would fill it: if it has
// to stay, it gets its name back, and the call fails with the reason. Fails once `stopped` is set;
// a later call goes on.
Stored<TreeSize> remove_owned_tree(const std::filesystem::path& parent, const std::string& name,
                                   const std::atomic<bool>& stopped,
                                   const ReasonToKeepTree& reason_to_keep = {});

// Removes what is at the path, a directory with all that it holds, in the same way, but whoever it
// belongs to and without another name meanwhile; succeeds if nothing is there. A symbolic link is
// removed itself. What could be removed is gone after a failure, too; a later call goes on.
Stored<void> remove_with_content(const std::filesystem::path& path);

// Returns whether remove_owned_tree() would find something there.
bool is_owned_tree_there(const std::filesystem::path& parent, const std::string& name);

// The end of the name of a directory that is being removed.
inline constexpr const char* removing_suffix = ".removing";

}  // namespace signalbox
