#include "store/directory_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "store/durable_file.h"

namespace signalbox {
namespace {

constexpr std::size_t pid_bytes_max = 32;

StoreError held_by_another(const std::filesystem::path& path) {
  std::string pid = read_file(path, pid_bytes_max).value_or("");
  while (!pid.empty() && pid.back() == '\n') pid.pop_back();
  StoreError error;
  error.kind = StoreError::Kind::in_use;
  error.message = path.parent_path().string() + " is in use by another server" +
                  (pid.empty() ? "" : ", process " + pid);
  error.file = path.string();
  return error;
}

}  // namespace

Stored<DirectoryLock> DirectoryLock::take(const std::filesystem::path& path) {
  FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file) return tl::unexpected(system_error("open", path));
  while (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno == EWOULDBLOCK) return tl::unexpected(held_by_another(path));
    return tl::unexpected(system_error("lock", path));
  }
  // Only a hint for people, so a disk without room for it is no reason not to start.
  const std::string pid = std::to_string(::getpid()) + "\n";
  if (::ftruncate(file.get(), 0) != 0 || ::pwrite(file.get(), pid.data(), pid.size(), 0) < 0) {
    static_cast<void>(::ftruncate(file.get(), 0));
  }
  return DirectoryLock(std::move(file));
}

}  // namespace signalbox
