// Finds the disk that a path is on by its name alone: a disk that hangs holds up every access to
// it.
#pragma once

#include <string>
#include <string_view>

namespace signalbox {

// Returns the directory where the file system of an absolute path is mounted: the longest one that
// the path lies in. Empty for the root file system, or if the kernel doesn't say. No link is
// followed, and nothing of the path is touched.
std::string mount_point_of(std::string_view path);

}  // namespace signalbox
