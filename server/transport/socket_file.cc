#include "server/transport/socket_file.h"

#include <sys/stat.h>

namespace signalbox {

std::optional<FileIdentity> identity_of(const std::filesystem::path& path) {
  struct stat present {};
  if (lstat(path.c_str(), &present) != 0) return std::nullopt;
  return FileIdentity{present.st_dev, present.st_ino};
}

void SocketFile::remove() const {
  std::error_code ignored;
  if (is_there()) std::filesystem::remove(path, ignored);
}

}  // namespace signalbox
