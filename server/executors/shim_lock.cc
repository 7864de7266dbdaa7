#include "server/executors/shim_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>

#include "server/platform/process_table.h"
#include "store/durable_file.h"

namespace signalbox {

Stored<ShimLockState> look_at_shim_lock(const std::filesystem::path& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file) {
    if (errno == ENOENT || errno == ENOTDIR) return ShimLockState::absent;
    return tl::unexpected(system_error("open", path));
  }
  // Shared, so that two who look at the same time don't take each other for the owner.
  while (::flock(file.get(), LOCK_SH | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return ShimLockState::held;
    if (errno != EINTR) return tl::unexpected(system_error("lock", path));
  }
  return ShimLockState::left;
}

Stored<FileDescriptor> take_shim_lock(const std::filesystem::path& path) {
  std::string temporary = path.string() + ".XXXXXX";
  FileDescriptor file(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!file) return tl::unexpected(system_error("create a file beside", path));

  const auto self = read_process(::getpid());
  const std::uint64_t started = self ? self->identity.start_time_ticks : 0;
  const bool failed = ::flock(file.get(), LOCK_EX | LOCK_NB) != 0 ||
                      ::dprintf(file.get(), "{\"pid\":%d,\"start_time_ticks\":%llu}\n", ::getpid(),
                                static_cast<unsigned long long>(started)) < 0 ||
                      ::fsync(file.get()) != 0 || ::link(temporary.c_str(), path.c_str()) != 0;
  const int error = errno;
  ::unlink(temporary.c_str());
  if (failed && error == EEXIST) return FileDescriptor();
  if (failed) {
    errno = error;
    return tl::unexpected(system_error("take the lock", path));
  }
  if (auto synced = sync_directory(path.parent_path()); !synced) {
    return tl::unexpected(std::move(synced).error());
  }
  return file;
}

}  // namespace signalbox
