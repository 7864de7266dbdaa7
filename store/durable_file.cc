#include "store/durable_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <system_error>
#include <utility>
#include <vector>

#include "domain/try.h"
#include "store/file_descriptor.h"

namespace signalbox {
namespace {

// Called after a failed mkdir(), whose errno is the error unless a directory is there already.
Stored<void> require_directory(const std::filesystem::path& path) {
  if (errno != EEXIST) return tl::unexpected(system_error("create the directory", path));
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return tl::unexpected(system_error("look at", path));
  if (S_ISDIR(status.st_mode)) return {};
  errno = ENOTDIR;
  return tl::unexpected(system_error("create the directory", path));
}

}  // namespace

Stored<void> replace_file(const std::filesystem::path& path, std::string_view bytes) {
  const std::filesystem::path temporary = path.string() + ".tmp";
  // The temporary file is removed, so that it doesn't occupy space on a full disk.
  const auto give_up = [&temporary](const char* verb) {
    auto error = system_error(verb, temporary);
    ::unlink(temporary.c_str());
    return tl::unexpected(std::move(error));
  };
  {
    const FileDescriptor file(
        ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file) return tl::unexpected(system_error("create", temporary));
    if (!write_all(file, bytes)) return give_up("write");
    if (::fsync(file.get()) != 0) return give_up("sync");
  }
  if (std::rename(temporary.c_str(), path.c_str()) != 0) return give_up("rename");
  return sync_directory(path.parent_path());
}

Stored<std::string> read_file(const std::filesystem::path& path, std::size_t bytes_max) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return tl::unexpected(system_error("open", path));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return tl::unexpected(system_error("read", path));
  // One byte more than the size, so that a file that doesn't grow reaches its end in the first
  // round. A sparse file may have any size.
  const auto size_now = static_cast<std::uint64_t>(status.st_size);
  std::string bytes(static_cast<std::size_t>(std::min<std::uint64_t>(size_now, bytes_max)) + 1,
                    '\0');
  std::size_t size = 0;
  while (size <= bytes_max) {
    if (size == bytes.size()) bytes.resize(2 * size);
    const ssize_t count = ::read(file.get(), bytes.data() + size, bytes.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return tl::unexpected(system_error("read", path));
    if (count == 0) break;
    size += static_cast<std::size_t>(count);
  }
  if (size > bytes_max) {
    return store_failure(StoreError::Kind::damaged,
                         path.string() + " is larger than such a file ever is", path.string());
  }
  bytes.resize(size);
  return bytes;
}

Stored<void> sync_directory(const std::filesystem::path& directory) {
  const FileDescriptor file(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!file) return tl::unexpected(system_error("open", directory));
  if (::fsync(file.get()) != 0) return tl::unexpected(system_error("sync", directory));
  return {};
}

Stored<void> make_directories(const std::filesystem::path& directory) {
  // Up to the first directory that is there, then down again. mkdir() of some file systems fails
  // with ENOENT although the parent exists, so each path is tried once on the way down, and not
  // until it works.
  std::vector<std::filesystem::path> missing;
  std::filesystem::path path = directory;
  for (;;) {
    if (::mkdir(path.c_str(), 0700) == 0) {
      TRY(sync_directory(path.parent_path()));
      break;
    }
    if (errno != ENOENT || !path.has_relative_path()) {
      TRY(require_directory(path));
      break;
    }
    missing.push_back(path);
    path = path.parent_path();
  }
  for (; !missing.empty(); missing.pop_back()) {
    const std::filesystem::path& next = missing.back();
    if (::mkdir(next.c_str(), 0700) != 0) {
      TRY(require_directory(next));
    } else {
      TRY(sync_directory(next.parent_path()));
    }
  }
  return {};
}

Stored<void> sync_parent_directories(const std::filesystem::path& directory) {
  std::error_code failed;
  std::filesystem::path path = std::filesystem::absolute(directory, failed);
  struct stat own {};
  if (failed || ::stat(path.c_str(), &own) != 0) {
    return tl::unexpected(system_error("find", directory));
  }
  while (path != path.root_path()) {
    path = path.parent_path();
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0 || status.st_dev != own.st_dev) return {};
    if (::access(path.c_str(), R_OK) != 0) continue;
    TRY(sync_directory(path));
  }
  return {};
}

}  // namespace signalbox
