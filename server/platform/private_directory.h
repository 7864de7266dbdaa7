// Keeps the data directory to the user that the service runs as.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "store/store_error.h"

namespace signalbox {

// Makes sure that no file mode of this process loses a bit of its owner's: clears those bits in the
// umask and leaves the others, which jobs and git inherit. Call it before the first thread.
void keep_owner_bits();

// Makes the data directory `data` if it is missing. Fails with `unsupported` if it is there and
// others may use it, whom make_private() would lock out: it has no log and no signalbox.toml, but
// directories that the service doesn't make (/etc), or it is a place for all (/tmp) that isn't
// empty. Blocks on the disk.
Stored<void> make_data_directory(const std::filesystem::path& data);

struct PrivateDirectory {
  std::size_t tightened = 0;  // files and directories that other users could reach by their mode
  std::string error;          // the first of those that could not be changed, and why; or empty
};

// Takes every right of group and others from the data directory `data` and from what the service
// keeps in it. Leaves out what belongs to jobs: workspaces, and the artifacts that a job leaves.
// Follows no link and changes only what this user owns. Blocks on the disk.
PrivateDirectory make_private(const std::filesystem::path& data);

}  // namespace signalbox
