#include "server/platform/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace signalbox {
namespace {

// Removes the temporary file; keeps errno for the caller's message.
tl::unexpected<StoreError> give_up(const std::string& temporary, std::string_view verb,
                                   const std::filesystem::path& path) {
  const int error = errno;
  ::unlink(temporary.c_str());
  errno = error;
  return tl::unexpected(system_error(verb, path));
}

Stored<std::string> open_and_read(const std::filesystem::path& path, int flags,
                                  std::size_t bytes_max) {
  // O_NONBLOCK: opening a FIFO must not wait for a writer.
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | flags));
  if (!file) return tl::unexpected(system_error("open", path));
  return read_regular_file(file.get(), path, bytes_max);
}

}  // namespace

Stored<void> write_file_atomically(const std::filesystem::path& path, std::string_view content) {
  std::string temporary = path.string() + std::string(temporary_mark) + "XXXXXX";
  const FileDescriptor file(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!file) return tl::unexpected(system_error("create a file beside", path));
  if (!write_all(file, content)) return give_up(temporary, "write", path);
  if (::fsync(file.get()) != 0) return give_up(temporary, "sync", path);
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    return give_up(temporary, "rename a file to", path);
  }
  return sync_directory(path.parent_path());
}

Stored<std::string> read_regular_file(const std::filesystem::path& path, std::size_t bytes_max) {
  return open_and_read(path, O_NOFOLLOW, bytes_max);
}

Stored<std::string> read_linked_file(const std::filesystem::path& path, std::size_t bytes_max) {
  return open_and_read(path, 0, bytes_max);
}

Stored<std::string> read_regular_file(int descriptor, const std::filesystem::path& path,
                                      std::size_t bytes_max) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) return tl::unexpected(system_error("look at", path));
  const auto refuse = [&path](const std::string& why) {
    return tl::unexpected<StoreError>(
        StoreError{StoreError::Kind::io, path.string() + " " + why, path.string(), 0});
  };
  if (!S_ISREG(status.st_mode)) return refuse("is not a regular file");
  const std::string too_long = "is longer than " + std::to_string(bytes_max) + " bytes";
  if (static_cast<std::uint64_t>(status.st_size) > bytes_max) return refuse(too_long);

  std::string content;
  // + 1: one read() can find growth or the end
  content.resize(static_cast<std::size_t>(status.st_size) + 1);  // + 1: sees growth, and the end
  std::size_t length = 0;
  while (true) {
    const ssize_t got = ::pread(descriptor, content.data() + length, content.size() - length,
                                static_cast<off_t>(length));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return tl::unexpected(system_error("read", path));
    if (got == 0) break;
    length += static_cast<std::size_t>(got);
    if (length > bytes_max) return refuse(too_long);
    if (length == content.size()) content.resize(content.size() * 2);
  }
  content.resize(length);
  return content;
}

Stored<FileDescriptor> nameless_file(const std::filesystem::path& directory) {
  std::string name = (directory / "nameless-XXXXXX").string();
  FileDescriptor file(::mkostemp(name.data(), O_CLOEXEC));
  if (!file) return tl::unexpected(system_error("create a file in", directory));
  ::unlink(name.c_str());
  return file;
}

}  // namespace signalbox
