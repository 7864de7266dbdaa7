// A socket that listens while nobody accepts: who connects waits, and isn't refused.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "store/file_descriptor.h"

namespace signalbox {

// By which a file is the same one, whatever its name.
using FileIdentity = std::pair<dev_t, ino_t>;

// Nothing where there is none.
std::optional<FileIdentity> identity_of(const std::filesystem::path& path);

// The file of a Unix socket; at its path there may be somebody else's by now.
struct SocketFile {
  std::filesystem::path path;
  FileIdentity identity;

  [[nodiscard]] bool is_there() const { return identity_of(path) == identity; }
  // Only itself.
  void remove() const;
};

struct KeptSocket {
  std::string address;  // as it was asked for: a path, or an address and port
  FileDescriptor descriptor;
  std::optional<SocketFile> file;  // of a Unix socket
};

}  // namespace signalbox
