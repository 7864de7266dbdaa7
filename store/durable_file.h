// A small file, replaced as a whole: after a crash it is the old one or the new one.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "store/store_error.h"

namespace signalbox {

// Writes `<path>.tmp`, syncs it, renames it to `path` and syncs the directory.
// `full` or `io`; the old file is still there then.
Stored<void> replace_file(const std::filesystem::path& path, std::string_view bytes);

// `not_found`, `io`, or `damaged` for one that is larger than bytes_max.
Stored<std::string> read_file(const std::filesystem::path& path, std::size_t bytes_max);

// Makes what was created, renamed or removed in a directory durable.
Stored<void> sync_directory(const std::filesystem::path& directory);

// Makes the directory's own way from the root of its file system durable, whoever made it. A
// directory on it that we may not read wasn't made for us: it is passed over.
Stored<void> sync_way_to(const std::filesystem::path& directory);

}  // namespace signalbox
