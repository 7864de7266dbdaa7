// Files that are there completely or not at all, whenever the process or the machine dies; and that
// several processes may write at the same time, which store/durable_file.h doesn't allow for.
//
// Errors: `full` for no space or quota, `not_found` for a missing path, `io` for the rest. Files
// get mode 0600, directories 0700. Any thread.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "store/store_error.h"

namespace signalbox {

// Replaces `path` (absolute): a temporary file in the same directory, fsync, rename, fsync of the
// directory.
Stored<void> write_file_atomically(const std::filesystem::path& path, std::string_view content);

// mkdir -p of an absolute path; each directory that it makes is durable when it returns.
Stored<void> make_directories(const std::filesystem::path& directory);

// The content of a regular file of at most `bytes_max` bytes. A symbolic link, another kind of file
// or a longer file is `io`.
Stored<std::string> read_regular_file(const std::filesystem::path& path, std::size_t bytes_max);

// As above, from an open file; `path` is for the message.
Stored<std::string> read_regular_file(int descriptor, const std::filesystem::path& path,
                                      std::size_t bytes_max);

}  // namespace signalbox
