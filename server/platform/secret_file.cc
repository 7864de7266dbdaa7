#include "server/platform/secret_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/platform/atomic_file.h"
#include "store/file_descriptor.h"

namespace signalbox {

tl::expected<std::string, std::string> read_secret_file(const std::string& path,
                                                        std::size_t bytes_max) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file) return tl::unexpected(path + " can't be opened");
  struct stat found {};
  const bool has_status = ::fstat(file.get(), &found) == 0;
  auto text = read_regular_file(file.get(), path, bytes_max);
  if (!text || !has_status) {
    return tl::unexpected(text ? path + " can't be read" : text.error().message);
  }
  if ((found.st_mode & 0077U) != 0 || (found.st_uid != ::geteuid() && found.st_uid != 0)) {
    return tl::unexpected("others may read " + path + "; chmod 600 " + path);
  }
  return *std::move(text);
}

}  // namespace signalbox
