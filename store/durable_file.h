// Small files that are replaced as a whole (after a crash the file is the old one or the new one),
// and the directory syncs that make file operations durable.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "store/store_error.h"

namespace signalbox {

// Replaces a file atomically and durably: writes `<path>.tmp`, syncs it, renames it to `path` and
// syncs the directory. Fails with `full` or `io`; unless only the last step failed, the old file is
// kept.
Stored<void> replace_file(const std::filesystem::path& path, std::string_view bytes);

// Reads a whole file. Fails with `not_found`, `io`, or `damaged` if it is larger than bytes_max.
Stored<std::string> read_file(const std::filesystem::path& path, std::size_t bytes_max);

// Creates an absolute directory with mode 0700, and its missing parents likewise. Each directory
// that it creates is durable when it returns. Fails with `full`, `not_found` (a file system that
// makes no directories, such as /proc, or a link without a target) or `io`.
Stored<void> make_directories(const std::filesystem::path& directory);

// Makes earlier creations, renames and removals in a directory durable.
Stored<void> sync_directory(const std::filesystem::path& directory);

// Syncs every directory from the parent of `directory` up to the root of its file system, so that
// the path to it is durable whichever process created it. Skips directories that this process may
// not read: it can't have created them.
Stored<void> sync_parent_directories(const std::filesystem::path& directory);

}  // namespace signalbox
