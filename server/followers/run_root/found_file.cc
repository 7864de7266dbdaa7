#include "server/followers/run_root/found_file.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "server/platform/atomic_file.h"

namespace signalbox {

FoundFile read_found_file(const std::filesystem::path& path, std::size_t bytes_max) {
  FoundFile found;
  const auto unreadable = [&found](std::string problem) {
    found.kind = FoundFile::Kind::unreadable;
    found.problem = std::move(problem);
    return found;
  };
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return found;
    return unreadable(std::string("it can't be looked at: ") + strerror(errno));
  }
  found.modified_at_ns = status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec;
  if (S_ISDIR(status.st_mode)) return unreadable("a directory");
  if (S_ISLNK(status.st_mode)) return unreadable("a symbolic link");
  if (!S_ISREG(status.st_mode)) return unreadable("not a regular file");
  if (status.st_size > static_cast<off_t>(bytes_max)) {
    return unreadable("too large: " + std::to_string(status.st_size) + " bytes");
  }
  auto content = read_regular_file(path, bytes_max);
  if (!content) {
    // It may have been removed a moment ago.
    if (content.error().kind == StoreError::Kind::not_found) return {};
    return unreadable("it can't be read: " + content.error().message);
  }
  found.kind = FoundFile::Kind::content;
  found.content = std::move(*content);
  return found;
}

}  // namespace signalbox
