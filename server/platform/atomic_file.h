// Files that exist completely or not at all, whenever the process or the machine dies. Several
// processes may write the same path at the same time, which store/durable_file.h doesn't support.
//
// Errors: `full` for no space or quota, `not_found` for a missing path, `io` for the rest. Files
// get mode 0600. All functions block on the disk. Any thread. Directories are made by
// make_directories() of store/durable_file.h.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "store/durable_file.h"
#include "store/file_descriptor.h"
#include "store/store_error.h"

namespace signalbox {

// Between the name of a file and what mkstemp() makes up for its temporary one.
inline constexpr std::string_view temporary_mark = ".tmp.";

// Replaces `path` (absolute) through a temporary file in the same directory: fsync, rename, fsync
// of the directory.
Stored<void> write_file_atomically(const std::filesystem::path& path, std::string_view content);

// Returns the content of a regular file of at most `bytes_max` bytes. A symbolic link, another kind
// of file or a longer file is the error `io`.
Stored<std::string> read_regular_file(const std::filesystem::path& path, std::size_t bytes_max);

// Does the same, but follows a symbolic link.
Stored<std::string> read_linked_file(const std::filesystem::path& path, std::size_t bytes_max);

// Like read_regular_file(), but reads an open file; `path` is for the error message.
Stored<std::string> read_regular_file(int descriptor, const std::filesystem::path& path,
                                      std::size_t bytes_max);

// Creates a file without a name in an existing directory, open for reading and writing: nobody else
// finds it, and it goes with the last process that has it open.
Stored<FileDescriptor> nameless_file(const std::filesystem::path& directory);

}  // namespace signalbox
