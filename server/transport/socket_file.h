// The file of a listening Unix socket, told apart from another one at the same path.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <utility>

namespace signalbox {

// Device and inode, which identify a file independently of its name.
using FileIdentity = std::pair<dev_t, ino_t>;

// Returns the identity of what is at `path` (a symbolic link itself); nullopt if nothing is.
std::optional<FileIdentity> identity_of(const std::filesystem::path& path);

// The file of a Unix socket. Another process may have replaced it at its path meanwhile.
struct SocketFile {
  std::filesystem::path path;
  FileIdentity identity;

  // Returns true if this file, and not another one, is at the path.
  [[nodiscard]] bool is_there() const { return identity_of(path) == identity; }
  // Removes the file, unless another one is at the path. Errors are ignored.
  void remove() const;
};

}  // namespace signalbox
